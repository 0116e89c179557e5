package condition

import "math/bits"

// maxScale is the largest power of ten in an int64.
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
