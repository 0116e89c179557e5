package postgres

import (
	"encoding/binary"
	"errors"
	"math"
	"time"

	"tallyman/rules/row"
)

// PostgreSQL counts from 2000-01-01; these are Unix seconds.
const (
	epoch  = 946_684_800
	day    = 86_400
	oldest = -62_135_596_800 // 0001-01-01T00:00:00Z
	newest = 253_402_300_799 // 9999-12-31T23:59:59Z
)

// decodeTimestamp reads timestamps with and without zone: µs since 2000, in UTC.
func decodeTimestamp(_ *cursor, dst *row.Value, src []byte) error {
	if err := want(src, 8); err != nil {
		return err
	}
	micros := int64(binary.BigEndian.Uint64(src)) //nolint:gosec // two's complement
	seconds, rest := micros/1e6, micros%1e6
	if rest < 0 {
		seconds, rest = seconds-1, rest+1e6
	}
	*dst = row.TimeOf(clamped(seconds+epoch, rest*1e3))
	return nil
}

// decodeDate reads days since 2000.
func decodeDate(_ *cursor, dst *row.Value, src []byte) error {
	if err := want(src, 4); err != nil {
		return err
	}
	days := int64(int32(binary.BigEndian.Uint32(src))) //nolint:gosec // two's complement
	*dst = row.DateOf(clamped(days*day+epoch, 0))
	return nil
}

// clamped keeps to the years that all of the product can write: infinity and -infinity, which are the ends of
// the wire's range, become the ends of these years and compare as they should.
func clamped(seconds, nanos int64) time.Time {
	switch {
	case seconds < oldest:
		seconds, nanos = oldest, 0
	case seconds > newest:
		seconds, nanos = newest, 999_999_000
	}
	return time.Unix(seconds, nanos).UTC()
}

// decodeInterval reads µs, days (of 24 hours) and months.
func decodeInterval(_ *cursor, dst *row.Value, src []byte) error {
	if err := want(src, 16); err != nil {
		return err
	}
	micros := int64(binary.BigEndian.Uint64(src))             //nolint:gosec // two's complement
	days := int64(int32(binary.BigEndian.Uint32(src[8:])))    //nolint:gosec // two's complement
	months := int64(int32(binary.BigEndian.Uint32(src[12:]))) //nolint:gosec // two's complement
	if months != 0 {
		return errors.New("an interval with months has no fixed length; select extract(epoch from …) instead")
	}
	const most int64 = math.MaxInt64 / 2000 // µs, so that neither sum nor product overflows
	if micros > most || micros < -most || days*day > most/1_000_000 || days*day < -most/1_000_000 {
		return errors.New("the interval is too long; select extract(epoch from …) instead")
	}
	*dst = row.DurationOf(time.Duration(micros+days*day*1e6) * time.Microsecond)
	return nil
}
