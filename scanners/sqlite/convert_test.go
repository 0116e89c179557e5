package sqlite

import (
	"math"
	"strconv"
	"testing"

	"pgregory.net/rapid"

	"tallyman/rules/row"
)

// TestDecimalOf compares the fast way with the shortest text that is read as the same float.
func TestDecimalOf(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		f := rapid.OneOf(
			rapid.Float64(),
			rapid.Custom(func(t *rapid.T) float64 {
				return float64(rapid.Int64().Draw(t, "digits")) / math.Pow10(rapid.IntRange(0, 12).Draw(t, "scale"))
			}),
			rapid.SampledFrom([]float64{0, math.Copysign(0, -1), 0.1, 0.30000000000000004, 1 << 53, 1<<53 - 1, 1.005, 1e300, 5e-324, 12.3456, 900719925474.0993}),
		).Draw(t, "f")
		if math.Abs(f) > 1e100 {
			return
		}
		got, ok := decimalOf(f)
		want, err := row.ParseDecimal(strconv.FormatFloat(f+0, 'f', -1, 64))
		if !ok || err != nil || got.String() != want.String() && f != 0 {
			t.Fatalf("%v became %s, want %s (%v)", f, got, want, err)
		}
	})
	for f, want := range map[float64]string{math.Copysign(0, -1): "0", 2.5: "2.5", 100: "100", 1e17: "100000000000000000"} {
		if got, _ := decimalOf(f); got.String() != want {
			t.Errorf("%v became %s", f, got)
		}
	}
	if v, ok := decimalOf(math.Inf(-1)); !ok || v.String() != "-Infinity" {
		t.Errorf("-Inf became %s, %v", v, ok)
	}
}
