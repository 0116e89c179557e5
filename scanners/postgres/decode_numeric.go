package postgres

import (
	"encoding/binary"
	"errors"
	"math"

	"github.com/cockroachdb/apd/v3"

	"tallyman/rules/row"
)

// The signs of a numeric on the wire.
const (
	numericPositive    = 0x0000
	numericNegative    = 0x4000
	numericNaN         = 0xC000
	numericInfinite    = 0xD000
	numericNegInfinite = 0xF000
)

// maxScale is the most digits after the point of a numeric.
const maxScale = 16_383

var errNumeric = errors.New("the database sent a numeric that cannot be read")

// decodeNumeric reads PostgreSQL's numeric: groups of four decimal digits, the first worth 10000^weight, of which
// scale digits stand after the point. What fits an int64 is read without an allocation.
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

// smallNumeric returns the digits with scale of them after the point as an int64, where they fit.
func smallNumeric(groups []byte, weight, scale int) (int64, bool) {
	if scale > 18 || weight > 4 {
		return 0, false
	}
	last := -((scale + 3) / 4) // the weight of the last group that has digits before the end of the scale
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
	// The groups end before the scale where zeros were left out, or up to three zeros after it.
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
