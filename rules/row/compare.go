package row

import (
	"cmp"
	"fmt"
	"math"
	"math/bits"
	"strings"

	"github.com/cockroachdb/apd/v3"
)

// Compare orders two values. It returns -1, 0 or +1. Numbers of all kinds compare by their exact values: the float
// nearest to 0.1 is greater than the decimal 0.1. NaN equals NaN and is greater than any number, as in PostgreSQL. A
// Date compares with a Time as its midnight in UTC. NULL equals NULL and comes first. This order serves for sorting;
// conditions add the logic of SQL for NULL. Compare returns an error for kinds without a common order.
func Compare(a, b Value) (int, error) {
	switch {
	case a.kind == Null || b.kind == Null:
		return boolCompare(a.kind != Null, b.kind != Null), nil
	case a.kind.IsNumber() && b.kind.IsNumber():
		return compareNumbers(a, b), nil
	case isInstant(a.kind) && isInstant(b.kind):
		return cmp.Or(cmp.Compare(a.num, b.num), cmp.Compare(a.instantNanos(), b.instantNanos())), nil
	case a.kind != b.kind:
		return 0, fmt.Errorf("%s and %s do not compare", a.kind, b.kind)
	case a.kind == Text || a.kind == Bytes || a.kind == JSON:
		return strings.Compare(a.str, b.str), nil
	}
	return cmp.Compare(a.num, b.num), nil // Bool, Duration
}

// Equal tells whether Compare finds two values equal. Values that do not compare are not equal.
func Equal(a, b Value) bool {
	c, err := Compare(a, b)
	return err == nil && c == 0
}

func isInstant(k Kind) bool { return k == Time || k == Date }

func (v Value) instantNanos() int32 { return v.scale }

func boolCompare(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	}
	return -1
}

func compareNumbers(a, b Value) int {
	switch {
	case a.kind == Float && b.kind == Float:
		return compareFloats(a.flt, b.flt)
	case a.kind == Float:
		return -compareToFloat(b, a.flt)
	case b.kind == Float:
		return compareToFloat(a, b.flt)
	}
	an, as, aok := a.Unscaled()
	bn, bs, bok := b.Unscaled()
	if aok && bok {
		if c, ok := CompareScaled(an, as, bn, bs); ok {
			return c
		}
	}
	var x, y apd.Decimal
	return compareApd(a.Apd(&x), b.Apd(&y))
}

// CompareScaled compares a / 10^as with b / 10^bs without an allocation. It returns false where the scales are too far
// apart for that.
func CompareScaled(a int64, as int32, b int64, bs int32) (int, bool) {
	if as == bs {
		return cmp.Compare(a, b), true
	}
	if (a < 0) != (b < 0) || a == 0 || b == 0 {
		return cmp.Compare(sign(a), sign(b)), true
	}
	d := as - bs
	if d > maxScale || d < -maxScale {
		return 0, false
	}
	x, y := magnitude(a), magnitude(b)
	var xhi, yhi uint64
	if d < 0 {
		xhi, x = bits.Mul64(x, uint64(pow10[-d])) //nolint:gosec // positive
	} else {
		yhi, y = bits.Mul64(y, uint64(pow10[d])) //nolint:gosec // positive
	}
	c := cmp.Or(cmp.Compare(xhi, yhi), cmp.Compare(x, y))
	if a < 0 {
		c = -c
	}
	return c, true
}

func sign(n int64) int { return cmp.Compare(n, 0) }

func magnitude(n int64) uint64 {
	if n < 0 {
		return -uint64(n) //nolint:gosec // two's complement is also right for the least int64
	}
	return uint64(n)
}

func compareFloats(a, b float64) int {
	switch an, bn := math.IsNaN(a), math.IsNaN(b); {
	case an || bn:
		return boolCompare(an, bn)
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// compareToFloat compares an Int or a Decimal with a float. A fast estimate decides all but the closest cases.
func compareToFloat(v Value, f float64) int {
	if n, scale, ok := v.Unscaled(); ok && scale <= maxScale && !math.IsNaN(f) {
		estimate := float64(n) / float64(pow10[scale])
		if slack := math.Abs(estimate) * 1e-15; f < estimate-slack || f > estimate+slack {
			return compareFloats(estimate, f)
		}
		if f == math.Trunc(f) && math.Abs(f) < 1<<53 {
			if c, ok := CompareScaled(n, scale, int64(f), 0); ok {
				return c
			}
		}
	}
	var x, y apd.Decimal
	return compareApd(v.Apd(&x), floatToApd(&y, f))
}

func compareApd(a, b *apd.Decimal) int {
	an, bn := a.Form == apd.NaN || a.Form == apd.NaNSignaling, b.Form == apd.NaN || b.Form == apd.NaNSignaling
	if an || bn {
		return boolCompare(an, bn)
	}
	return a.Cmp(b)
}
