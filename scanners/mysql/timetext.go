package mysql

import (
	"errors"
	"time"

	"tallyman/rules/row"
	"tallyman/scanners/sqldb"
)

// parseTime reads 2006-01-02, with 15:04:05 after it and a fraction after that. It is not there where all of the date is 0.
func parseTime(src any, location *time.Location) (t time.Time, there bool, err error) {
	b, ok := src.([]byte)
	if !ok || len(b) < 10 || b[4] != '-' || b[7] != '-' {
		return t, false, errTimeText
	}
	year, month, day := digits(b[0:4]), digits(b[5:7]), digits(b[8:10])
	var hour, minute, second, nano int
	if rest := b[10:]; len(rest) > 0 {
		if len(rest) < 9 || rest[3] != ':' || rest[6] != ':' {
			return t, false, errTimeText
		}
		hour, minute, second = digits(rest[1:3]), digits(rest[4:6]), digits(rest[7:9])
		nano = fraction(rest[9:])
	}
	if year|month|day|hour|minute|second|nano < 0 {
		return t, false, errTimeText
	}
	if year == 0 && month == 0 && day == 0 {
		return t, false, nil
	}
	if hour > 23 || minute > 59 || second > 59 || time.Date(year, time.Month(month), day, 0, 0, 0, 0, time.UTC).Day() != day || month == 0 || month > 12 {
		return t, false, errTimeText // 2026-00-01, 2026-02-31: some modes of the server let them in
	}
	return time.Date(year, time.Month(month), day, hour, minute, second, nano, location), true, nil
}

var errTimeText = errors.New("not a date")

// digits reads a number without sign; -1 where it is none.
func digits(b []byte) int {
	n := 0
	for _, c := range b {
		if c < '0' || c > '9' {
			return -1
		}
		n = n*10 + int(c-'0')
	}
	return n
}

// fraction reads .25 as nanoseconds; nothing is 0, and -1 what is no fraction.
func fraction(b []byte) int {
	if len(b) == 0 {
		return 0
	}
	if b[0] != '.' || len(b) > 10 {
		return -1
	}
	n := digits(b[1:])
	for range 10 - len(b) {
		n *= 10
	}
	return n
}

// convertDuration reads TIME: 08:30:00, -838:59:59.000001.
func convertDuration(dst *row.Value, src any, _ *sqldb.Texts) error {
	b, ok := src.([]byte)
	if !ok {
		return changed(src, row.Duration)
	}
	negative := len(b) > 0 && b[0] == '-'
	if negative {
		b = b[1:]
	}
	at := 0
	for at < len(b) && b[at] != ':' {
		at++
	}
	if at == 0 || at > 3 || len(b) < at+6 || b[at+3] != ':' {
		return changed(src, row.Duration)
	}
	hours, minutes, seconds, nano := digits(b[:at]), digits(b[at+1:at+3]), digits(b[at+4:at+6]), fraction(b[at+6:])
	if hours|minutes|seconds|nano < 0 {
		return changed(src, row.Duration)
	}
	d := time.Duration(hours)*time.Hour + time.Duration(minutes)*time.Minute + time.Duration(seconds)*time.Second + time.Duration(nano)
	if negative {
		d = -d
	}
	*dst = row.DurationOf(d)
	return nil
}
