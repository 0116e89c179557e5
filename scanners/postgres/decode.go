package postgres

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"time"
	"unsafe"

	"github.com/cockroachdb/apd/v3"
	"github.com/jackc/pgx/v5/pgtype"

	"tallyman/rules/row"
)

const uuidLength = 36

// alias returns the bytes as a string without a copy. The string is valid until the driver reads on.
func alias(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) } //nolint:gosec // a Row says how long its texts live

// want returns an error if a value does not have the length of its type.
func want(src []byte, length int) error {
	if len(src) != length {
		return fmt.Errorf("the database sent %d bytes instead of %d", len(src), length)
	}
	return nil
}

func decodeBool(_ *cursor, dst *row.Value, src []byte) error {
	if err := want(src, 1); err != nil {
		return err
	}
	*dst = row.BoolOf(src[0] != 0)
	return nil
}

func decodeInt2(_ *cursor, dst *row.Value, src []byte) error {
	if err := want(src, 2); err != nil {
		return err
	}
	*dst = row.IntOf(int64(int16(binary.BigEndian.Uint16(src)))) //nolint:gosec // two's complement
	return nil
}

func decodeInt4(_ *cursor, dst *row.Value, src []byte) error {
	if err := want(src, 4); err != nil {
		return err
	}
	*dst = row.IntOf(int64(int32(binary.BigEndian.Uint32(src)))) //nolint:gosec // two's complement
	return nil
}

func decodeInt8(_ *cursor, dst *row.Value, src []byte) error {
	if err := want(src, 8); err != nil {
		return err
	}
	*dst = row.IntOf(int64(binary.BigEndian.Uint64(src))) //nolint:gosec // two's complement
	return nil
}

func decodeOID(_ *cursor, dst *row.Value, src []byte) error {
	if err := want(src, 4); err != nil {
		return err
	}
	*dst = row.IntOf(int64(binary.BigEndian.Uint32(src)))
	return nil
}

func decodeFloat4(_ *cursor, dst *row.Value, src []byte) error {
	if err := want(src, 4); err != nil {
		return err
	}
	*dst = row.FloatOf(float64(math.Float32frombits(binary.BigEndian.Uint32(src))))
	return nil
}

func decodeFloat8(_ *cursor, dst *row.Value, src []byte) error {
	if err := want(src, 8); err != nil {
		return err
	}
	*dst = row.FloatOf(math.Float64frombits(binary.BigEndian.Uint64(src)))
	return nil
}

func decodeText(_ *cursor, dst *row.Value, src []byte) error {
	*dst = row.TextOf(alias(src))
	return nil
}

// decodeChar removes the padding of CHAR(n). PostgreSQL ignores the padding, too, when it compares.
func decodeChar(_ *cursor, dst *row.Value, src []byte) error {
	*dst = row.TextOf(alias(bytes.TrimRight(src, " ")))
	return nil
}

func decodeBytes(_ *cursor, dst *row.Value, src []byte) error {
	*dst = row.BytesOf(alias(src))
	return nil
}

func decodeJSON(_ *cursor, dst *row.Value, src []byte) error {
	*dst = row.JSONOf(alias(src))
	return nil
}

func decodeJSONB(_ *cursor, dst *row.Value, src []byte) error {
	if len(src) == 0 || src[0] != 1 {
		return fmt.Errorf("the database sent a jsonb of an unknown version")
	}
	*dst = row.JSONOf(alias(src[1:]))
	return nil
}

// decodeUUID writes the usual text of a UUID into the scratch buffer of the scan.
func decodeUUID(c *cursor, dst *row.Value, src []byte) error {
	if err := want(src, 16); err != nil {
		return err
	}
	start := len(c.scratch)
	out := c.scratch[start : start+uuidLength]
	hex.Encode(out[0:8], src[0:4])
	hex.Encode(out[9:13], src[4:6])
	hex.Encode(out[14:18], src[6:8])
	hex.Encode(out[19:23], src[8:10])
	hex.Encode(out[24:36], src[10:16])
	out[8], out[13], out[18], out[23] = '-', '-', '-', '-'
	c.scratch = c.scratch[:start+uuidLength]
	*dst = row.TextOf(alias(out))
	return nil
}

// The formats of the wire.
const (
	textFormat   = 0
	binaryFormat = 1
)

// decoder reads one value that is not NULL. Texts may point into src.
type decoder func(c *cursor, dst *row.Value, src []byte) error

// dataType says how a column of a type is read.
type dataType struct {
	kind   row.Kind
	format int16
	decode decoder
}

// typeOf returns how a type is read. A type without a decoder of its own is read as text.
func typeOf(oid uint32) dataType {
	switch oid {
	case pgtype.BoolOID:
		return dataType{row.Bool, binaryFormat, decodeBool}
	case pgtype.Int2OID:
		return dataType{row.Int, binaryFormat, decodeInt2}
	case pgtype.Int4OID:
		return dataType{row.Int, binaryFormat, decodeInt4}
	case pgtype.Int8OID:
		return dataType{row.Int, binaryFormat, decodeInt8}
	case pgtype.OIDOID:
		return dataType{row.Int, binaryFormat, decodeOID}
	case pgtype.Float4OID:
		return dataType{row.Float, binaryFormat, decodeFloat4}
	case pgtype.Float8OID:
		return dataType{row.Float, binaryFormat, decodeFloat8}
	case pgtype.NumericOID:
		return dataType{row.Decimal, binaryFormat, decodeNumeric}
	case pgtype.TextOID, pgtype.VarcharOID, pgtype.NameOID:
		return dataType{row.Text, binaryFormat, decodeText}
	case pgtype.BPCharOID:
		return dataType{row.Text, binaryFormat, decodeChar}
	case pgtype.ByteaOID:
		return dataType{row.Bytes, binaryFormat, decodeBytes}
	case pgtype.DateOID:
		return dataType{row.Date, binaryFormat, decodeDate}
	case pgtype.TimestampOID:
		return dataType{row.Time, binaryFormat, decodeLocal}
	case pgtype.TimestamptzOID:
		return dataType{row.Time, binaryFormat, decodeTimestamp}
	case pgtype.IntervalOID:
		return dataType{row.Duration, binaryFormat, decodeInterval}
	case pgtype.UUIDOID:
		return dataType{row.Text, binaryFormat, decodeUUID}
	case pgtype.JSONOID:
		return dataType{row.JSON, binaryFormat, decodeJSON}
	case pgtype.JSONBOID:
		return dataType{row.JSON, binaryFormat, decodeJSONB}
	}
	return dataType{row.Text, textFormat, decodeText}
}

// The signs of a numeric on the wire.
const (
	numericPositive    = 0x0000
	numericNegative    = 0x4000
	numericNaN         = 0xC000
	numericInfinite    = 0xD000
	numericNegInfinite = 0xF000
)

// maxScale is the most digits that a numeric can have after the point.
const maxScale = 16_383

var errNumeric = errors.New("the database sent a numeric that cannot be read")

// decodeNumeric reads PostgreSQL's numeric. A numeric consists of groups of four decimal digits. The first group is worth
// 10000^weight, and scale digits are after the point. A number that fits an int64 is read without an allocation.
func decodeNumeric(_ *cursor, dst *row.Value, src []byte) error {
	if len(src) < 8 {
		return errNumeric
	}
	groups := src[8:]
	count := int(binary.BigEndian.Uint16(src))
	weight := int(int16(binary.BigEndian.Uint16(src[2:]))) //nolint:gosec // two's complement
	sign := binary.BigEndian.Uint16(src[4:])
	scale := int(binary.BigEndian.Uint16(src[6:]) & 0x3fff)
	if len(groups) != 2*count || scale > maxScale {
		return errNumeric
	}
	switch sign {
	case numericPositive, numericNegative:
	case numericNaN:
		*dst = row.BigDecimalOf(&apd.Decimal{Form: apd.NaN})
		return nil
	case numericInfinite, numericNegInfinite:
		*dst = row.BigDecimalOf(&apd.Decimal{Form: apd.Infinite, Negative: sign == numericNegInfinite})
		return nil
	default:
		return errNumeric
	}
	unscaled, ok := smallNumeric(groups, weight, scale)
	if !ok {
		return decodeBigNumeric(dst, groups, weight, scale, sign == numericNegative)
	}
	if sign == numericNegative {
		unscaled = -unscaled
	}
	*dst = row.DecimalOf(unscaled, int32(scale))
	return nil
}

// smallNumeric returns all digits, with scale of them after the point, as an int64. smallNumeric returns false if they
// do not fit.
func smallNumeric(groups []byte, weight, scale int) (int64, bool) {
	if scale > 18 || weight > 4 {
		return 0, false
	}
	last := -((scale + 3) / 4) // the weight of the last group with digits that belong to the scale
	var n int64
	at := 0
	for w := max(weight, -1); w >= last; w-- {
		var group int64
		if w <= weight && at < len(groups) {
			group = int64(binary.BigEndian.Uint16(groups[at:]))
			at += 2
			if group > 9999 {
				return 0, false
			}
		}
		factor, digits := int64(10_000), group
		if w == last && scale%4 != 0 { // only the first digits of this group belong to the scale
			factor = pow10[scale%4]
			digits = group / pow10[4-scale%4]
		}
		if n > (math.MaxInt64-9999)/factor {
			return 0, false
		}
		n = n*factor + digits
	}
	return n, true
}

var pow10 = [5]int64{1, 10, 100, 1000, 10_000}

// decodeBigNumeric reads a numeric of any size.
func decodeBigNumeric(dst *row.Value, groups []byte, weight, scale int, negative bool) error {
	d := &apd.Decimal{Negative: negative}
	base, group := apd.NewBigInt(10_000), new(apd.BigInt)
	for i := 0; i < len(groups); i += 2 {
		n := int64(binary.BigEndian.Uint16(groups[i:]))
		if n > 9999 {
			return errNumeric
		}
		d.Coeff.Mul(&d.Coeff, base)
		d.Coeff.Add(&d.Coeff, group.SetInt64(n))
	}
	// The groups may end before the scale, because zeros are left out. The last group may have up to three zeros behind
	// the scale.
	ten, power := apd.NewBigInt(10), new(apd.BigInt)
	switch shift := int64(4*(weight-len(groups)/2+1) + scale); {
	case shift > 0:
		d.Coeff.Mul(&d.Coeff, power.Exp(ten, power.SetInt64(shift), nil))
	case shift < 0:
		d.Coeff.Quo(&d.Coeff, power.Exp(ten, power.SetInt64(-shift), nil))
	}
	d.Exponent = -int32(scale) //nolint:gosec // at most maxScale
	*dst = row.NormalDecimalOf(d)
	return nil
}

// PostgreSQL counts from 2000-01-01; these are Unix seconds.
const (
	epoch  = 946_684_800
	day    = 86_400
	oldest = -62_135_596_800 // 0001-01-01T00:00:00Z
	newest = 253_402_300_799 // 9999-12-31T23:59:59Z
)

// decodeLocal reads a timestamp without zone as a time in the source's zone. The two ends of the range (see clamped)
// stay unchanged.
func decodeLocal(c *cursor, dst *row.Value, src []byte) error {
	if err := decodeTimestamp(c, dst, src); err != nil || c.location == time.UTC {
		return err
	}
	if t := dst.Time(); t.Unix() > oldest && t.Unix() < newest {
		*dst = row.TimeOf(row.At(t, c.location))
	}
	return nil
}

// decodeTimestamp reads a timestamp with zone: µs since 2000, in UTC.
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

// clamped limits times to the years 1 to 9999, which all parts of Tallyman can write. infinity and -infinity are the
// ends of the wire's range, so they become the ends of these years and still compare correctly.
func clamped(seconds, nanos int64) time.Time {
	switch {
	case seconds < oldest:
		seconds, nanos = oldest, 0
	case seconds > newest:
		seconds, nanos = newest, 999_999_000
	}
	return time.Unix(seconds, nanos).UTC()
}

// decodeInterval reads µs, days (of 24 hours) and months. An interval with months is an error.
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
	const most int64 = math.MaxInt64 / 2000 // µs; neither the sum nor the product can overflow
	if micros > most || micros < -most || days*day > most/1_000_000 || days*day < -most/1_000_000 {
		return errors.New("the interval is too long; select extract(epoch from …) instead")
	}
	*dst = row.DurationOf(time.Duration(micros+days*day*1e6) * time.Microsecond)
	return nil
}
