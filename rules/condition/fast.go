package condition

import (
	"cmp"
	"math"

	"tallyman/rules/row"
)

// fastCompare compiles the comparison of a column with a constant, which is what most conditions are, without
// copying values. It returns nil where there is no such form; the result is that of compareAny.
func fastCompare(l, r operand, verdict verdicts) func(*frame) truth {
	switch {
	case l.column >= 0 && r.constant:
		return columnWith(l, r.value, verdict)
	case r.column >= 0 && l.constant:
		return columnWith(r, l.value, verdict.mirrored())
	}
	return nil
}

func columnWith(column operand, constant row.Value, verdict verdicts) func(*frame) truth {
	i := column.column
	switch k := column.kind; {
	case k == row.Int || k == row.Decimal:
		if n, scale, ok := constant.Unscaled(); ok {
			return numberWith(i, constant, n, scale, verdict)
		}
	case k == row.Float && constant.Kind() == row.Float && !math.IsNaN(constant.Float()):
		return floatWith(i, constant, verdict)
	case k == row.Text && constant.Kind() == row.Text && len(constant.Text()) < freeText:
		return textWith(i, constant, verdict)
	}
	return nil
}

func numberWith(i int, constant row.Value, n int64, scale int32, verdict verdicts) func(*frame) truth {
	return func(f *frame) truth {
		v := &f.row.Values[i]
		if a, as, ok := v.Unscaled(); ok {
			if order, ok := row.CompareScaled(a, as, n, scale); ok {
				return verdict[order+1]
			}
		}
		return verdict.of(f, *v, constant)
	}
}

func floatWith(i int, constant row.Value, verdict verdicts) func(*frame) truth {
	x := constant.Float()
	return func(f *frame) truth {
		v := &f.row.Values[i]
		if v.Kind() != row.Float {
			return verdict.of(f, *v, constant)
		}
		switch a := v.Float(); {
		case a < x:
			return verdict[0]
		case a == x:
			return verdict[1]
		}
		return verdict[2] // more, or NaN, which counts as more
	}
}

func textWith(i int, constant row.Value, verdict verdicts) func(*frame) truth {
	s := constant.Text()
	if verdict[0] == verdict[2] { // == and !=
		return func(f *frame) truth {
			v := &f.row.Values[i]
			if v.Kind() != row.Text {
				return verdict.of(f, *v, constant)
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
			return verdict.of(f, *v, constant)
		}
		return verdict[cmp.Compare(v.Text(), s)+1]
	}
}
