package sqlite

import (
	"fmt"
	"math"
	"strconv"
	"time"

	"tallyman/rules/row"
)

// convert converts a value of the driver to this kind, and tells whether the value fits. The driver returns int64,
// float64, string, []byte or, for columns declared as times, time.Time. A time without a zone is in the zone of place.
// The two most frequent cases come first.
func convert(dst *row.Value, src any, kind row.Kind, place *time.Location) (ok bool) {
	switch v := src.(type) {
	case int64:
		if kind == row.Int {
			*dst = row.IntOf(v)
			return true
		}
		*dst, ok = fromInt(v, kind, place)
	case string:
		if kind == row.Text {
			*dst = row.TextOf(v)
			return true
		}
		*dst, ok = fromText(v, kind, place)
	case float64:
		*dst, ok = fromFloat(v, kind)
	case []byte:
		*dst, ok = row.BytesOf(string(v)), kind == row.Bytes
	case time.Time:
		*dst, ok = fromTime(v, kind)
	}
	return ok
}

func fromInt(n int64, kind row.Kind, place *time.Location) (row.Value, bool) {
	switch kind {
	case row.Bool:
		return row.BoolOf(n != 0), n == 0 || n == 1
	case row.Float:
		return row.FloatOf(float64(n)), true
	case row.Decimal:
		return row.DecimalOf(n, 0), true
	case row.JSON: // a column declared as JSON stores a text that looks like a number as a number
		return row.JSONOf(strconv.FormatInt(n, 10)), true
	case row.Time, row.Date:
		if n >= 1e11 || n <= -1e11 {
			return fromTime(time.UnixMilli(n).In(place), kind)
		}
		return fromTime(time.Unix(n, 0).In(place), kind)
	default:
		return row.Value{}, false
	}
}

// julianEpoch is 1970-01-01 as a Julian day. maxJulian is the end of the year 9999.
const (
	julianEpoch = 2440587.5
	maxJulian   = 5373484.5
)

func fromFloat(f float64, kind row.Kind) (row.Value, bool) {
	switch kind {
	case row.Float:
		return row.FloatOf(f), true
	case row.Decimal:
		return decimalOf(f)
	case row.JSON:
		return row.JSONOf(strconv.FormatFloat(f, 'f', -1, 64)), !math.IsInf(f, 0)
	case row.Time, row.Date:
		if f < 0 || f >= maxJulian {
			return row.Value{}, false
		}
		return fromTime(time.UnixMilli(int64(math.Round((f-julianEpoch)*86_400_000))).UTC(), kind)
	default:
		return row.Value{}, false
	}
}

// decimalOf returns the decimal with the fewest digits that is stored as f.
func decimalOf(f float64) (row.Value, bool) {
	const exact = 1 << 53 // whole numbers up to here are floats without rounding
	power := 1.0
	for scale := range int32(5) {
		if n := f * power; math.Abs(n) < exact && n == math.Trunc(n) && n/power == f {
			digits := int64(n)
			for scale > 0 && digits%10 == 0 { // f times the previous power was not exact
				digits, scale = digits/10, scale-1
			}
			return row.DecimalOf(digits, scale), true
		}
		power *= 10
	}
	v, err := row.ParseDecimal(strconv.FormatFloat(f, 'f', -1, 64))
	return v, err == nil
}

func fromText(s string, kind row.Kind, place *time.Location) (row.Value, bool) {
	switch kind {
	case row.JSON:
		return row.JSONOf(s), true
	case row.Bytes:
		return row.BytesOf(s), true
	case row.Decimal:
		v, err := row.ParseDecimal(s)
		return v, err == nil
	case row.Bool:
		b, err := strconv.ParseBool(s)
		return row.BoolOf(b), err == nil
	case row.Time, row.Date:
		if t, ok := parseTime(s, place); ok {
			return fromTime(t, kind)
		}
		fallthrough
	default:
		return row.Value{}, false
	}
}

func fromTime(t time.Time, kind row.Kind) (row.Value, bool) {
	if kind == row.Date {
		return row.DateOf(t), true
	}
	return row.TimeOf(t), kind == row.Time
}

// layouts are the forms that SQLite's own functions read. Each may have a fraction.
var layouts = [...]string{
	"2006-01-02 15:04:05", "2006-01-02T15:04:05", "2006-01-02T15:04:05Z07:00", "2006-01-02 15:04:05Z07:00", "2006-01-02",
	"2006-01-02 15:04", "2006-01-02T15:04", "2006-01-02T15:04Z07:00", "2006-01-02 15:04Z07:00", "2006-01-02 15:04:05 Z07:00",
}

func parseTime(s string, place *time.Location) (time.Time, bool) {
	for _, layout := range layouts {
		if t, err := time.ParseInLocation(layout, s, place); err == nil {
			return t, true
		}
	}
	return time.Time{}, false
}

// shown returns a value as an error message shows it.
func shown(src any) string {
	const most = 60
	switch v := src.(type) {
	case string:
		if r := []rune(v); len(r) > most {
			v = string(r[:most]) + "…"
		}
		return strconv.Quote(v)
	case []byte:
		return fmt.Sprintf("a blob of %d bytes", len(v))
	}
	return fmt.Sprint(src)
}
