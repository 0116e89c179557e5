package condition

import "tallyman/rules/row"

// small gives an Int or Decimal as n / 10^scale, in registers. It is false where the value is NULL or larger,
// or where the calculation overflows: then val is asked, which never asks small in turn, so that a part is
// evaluated twice at most.
type small func(*frame) (n int64, scale int32, ok bool)

func smallConstant(v row.Value) small {
	n, scale, ok := v.Unscaled()
	if !ok {
		return nil
	}
	return func(*frame) (int64, int32, bool) { return n, scale, true }
}

func smallColumn(i int) small {
	return func(f *frame) (int64, int32, bool) { return f.row.Values[i].Unscaled() }
}

// smallCalculation is nil where there is no small form: a quotient needs more than one division.
func smallCalculation(op byte, l, r small) small {
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

func compareSmall(l, r small, verdict verdicts, slow func(*frame) truth) func(*frame) truth {
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
