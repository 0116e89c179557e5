package condition

import (
	"cmp"
	"math"
	"math/bits"

	"tallyman/rules/row"
)

// smallNumber gives an Int or a Decimal as n / 10^scale, in registers and without copying a Value. It returns false
// where the value is NULL or too large, or where the calculation overflows. The caller then uses val. val never uses
// small, so that a part is evaluated at most twice.
type smallNumber func(*frame) (n int64, scale int32, ok bool)

func smallConstant(v row.Value) smallNumber {
	n, scale, ok := v.Unscaled()
	if !ok {
		return nil
	}
	return func(*frame) (int64, int32, bool) { return n, scale, true }
}

func smallColumn(i int) smallNumber {
	return func(f *frame) (int64, int32, bool) { return f.row.Values[i].Unscaled() }
}

// smallCalculation combines two small numbers. It returns nil where there is no small form. Quotients have none,
// because they need more than one division.
func smallCalculation(op byte, l, r smallNumber) smallNumber {
	if l == nil || r == nil {
		return nil
	}
	switch op {
	case '*':
		return func(f *frame) (int64, int32, bool) {
			a, as, ok := l(f)
			if !ok {
				return 0, 0, false
			}
			b, bs, ok := r(f)
			if !ok {
				return 0, 0, false
			}
			n, ok := mul64(a, b)
			return n, as + bs, ok && as+bs <= maxScale
		}
	case '+', '-':
		return func(f *frame) (int64, int32, bool) {
			a, as, ok := l(f)
			if !ok {
				return 0, 0, false
			}
			b, bs, ok := r(f)
			if !ok {
				return 0, 0, false
			}
			return calculateSmall(op, a, as, b, bs)
		}
	}
	return nil
}

func compareSmall(l, r smallNumber, verdict verdicts, slow func(*frame) truth) func(*frame) truth {
	return func(f *frame) truth {
		if a, as, ok := l(f); ok {
			if b, bs, ok := r(f); ok {
				if order, ok := row.CompareScaled(a, as, b, bs); ok {
					return verdict[order+1]
				}
			}
		}
		return slow(f)
	}
}

// maxScale is the exponent of the largest power of ten in an int64.
const maxScale = 18

// pow10 holds 10^0 … 10^18.
var pow10 = [maxScale + 1]int64{
	1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18,
}

func add64(a, b int64) (int64, bool) {
	s := a + b
	return s, (s > a) == (b > 0)
}

func sub64(a, b int64) (int64, bool) {
	d := a - b
	return d, (d < a) == (b > 0)
}

func mul64(a, b int64) (int64, bool) {
	hi, lo := bits.Mul64(magnitude(a), magnitude(b))
	negative := (a < 0) != (b < 0)
	if hi != 0 || lo > 1<<63 || lo == 1<<63 && !negative {
		return 0, false
	}
	if negative {
		return -int64(lo), true //nolint:gosec // at most 1<<63, whose negation is itself
	}
	return int64(lo), true //nolint:gosec // less than 1<<63
}

func magnitude(n int64) uint64 {
	if n < 0 {
		return -uint64(n) //nolint:gosec // two's complement, right for the least int64 too
	}
	return uint64(n)
}

// align brings two unscaled numbers to the larger of their scales.
func align(a int64, as int32, b int64, bs int32) (int64, int64, int32, bool) {
	ok := true
	switch d := as - bs; {
	case d > maxScale || d < -maxScale:
		return 0, 0, 0, false
	case d > 0:
		b, ok = mul64(b, pow10[d])
	case d < 0:
		a, ok = mul64(a, pow10[-d])
	}
	return a, b, max(as, bs), ok
}

// fastCompare compiles the comparison of a column with a constant without copying values. Most conditions are such
// comparisons. It returns nil for other operands, and for kinds that have no fast form. compareAny gives the same
// results.
func fastCompare(l, r operand, verdict verdicts, at int) func(*frame) truth {
	switch {
	case l.column >= 0 && r.constant:
		return columnWith(l, r.value, verdict, at)
	case r.column >= 0 && l.constant:
		return columnWith(r, l.value, verdict.mirrored(), at)
	}
	return nil
}

func columnWith(column operand, constant row.Value, verdict verdicts, at int) func(*frame) truth {
	i := column.column
	switch k := column.kind; {
	case k == row.Int || k == row.Decimal:
		if n, scale, ok := constant.Unscaled(); ok {
			return numberWith(i, constant, n, scale, verdict, at)
		}
	case k == row.Float && constant.Kind() == row.Float && !math.IsNaN(constant.Float()):
		return floatWith(i, constant, verdict, at)
	case k == row.Text && constant.Kind() == row.Text && len(constant.Text()) < freeText:
		return textWith(i, constant, verdict, at)
	}
	return nil
}

func numberWith(i int, constant row.Value, n int64, scale int32, verdict verdicts, at int) func(*frame) truth {
	return func(f *frame) truth {
		v := &f.row.Values[i]
		if a, as, ok := v.Unscaled(); ok {
			if order, ok := row.CompareScaled(a, as, n, scale); ok {
				return verdict[order+1]
			}
		}
		return verdict.of(f, *v, constant, at)
	}
}

func floatWith(i int, constant row.Value, verdict verdicts, at int) func(*frame) truth {
	x := constant.Float()
	return func(f *frame) truth {
		v := &f.row.Values[i]
		if v.Kind() != row.Float {
			return verdict.of(f, *v, constant, at)
		}
		switch a := v.Float(); {
		case a < x:
			return verdict[0]
		case a == x:
			return verdict[1]
		}
		return verdict[2] // greater, or NaN, which counts as greater
	}
}

func textWith(i int, constant row.Value, verdict verdicts, at int) func(*frame) truth {
	s := constant.Text()
	if verdict[0] == verdict[2] { // == and !=
		return func(f *frame) truth {
			v := &f.row.Values[i]
			if v.Kind() != row.Text {
				return verdict.of(f, *v, constant, at)
			}
			if v.Text() == s {
				return verdict[1]
			}
			return verdict[0]
		}
	}
	return func(f *frame) truth {
		v := &f.row.Values[i]
		if v.Kind() != row.Text {
			return verdict.of(f, *v, constant, at)
		}
		return verdict[cmp.Compare(v.Text(), s)+1]
	}
}
