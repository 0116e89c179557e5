package condition_test

import (
	"fmt"
	"testing"

	"tallyman/rules/row"
)

// A row that matches nothing costs no allocation.
func TestNoAllocationPerRow(t *testing.T) {
	r := sample(t)
	for _, src := range []string{
		`qty > 0`,
		`price < 0`,
		`price < 0.005`,
		`big < 0 and false`,
		`ratio > 1.5`,
		`qty < 0 and not (sku startsWith "TEST-")`,
		`qty < 0 and sku not in ["TEST-42", "TEST-43"]`,
		`sku in ["a","b","c","d","e","f","g","h","i"]`,
		`sku == "x" or name contains "y" or sku endsWith "z"`,
		`sku matches "^A[0-9]+$"`,
		`qty * 2 + 1 > count`,
		`price * qty + 0.5 > 0`,
		`price - price / 2 < 0`,
		`price % 5 == 0`,
		`n_int < 0`,
		`(n_dec ?? 1) < 0`,
		`n_int != nil and n_int > 3`,
		`qty in 1..100`,
		`abs(qty) > 5`,
		`min(qty, count, 3) > 0`,
		`sum([qty, count]) > 100`,
		`round(price) > 100`,
		`now() - at > duration("2d")`,
		`at > now()`,
		`day > date("2027-01-01")`,
		`at.Hour() > 5`,
		`len(sku) > 50`,
		`sku[0:2] == "AB"`,
		`trim(sku) == ""`,
		`let x = qty + 1; x > 5`,
		`(ok ? qty : count) > 5`,
	} {
		t.Run(src, func(t *testing.T) {
			p := compile(t, src)
			allocs := testing.AllocsPerRun(100, func() {
				if ok, err := p.Match(r); ok || err != nil {
					t.Fatalf("%v, %v", ok, err)
				}
			})
			if allocs != 0 {
				t.Errorf("%v allocations", allocs)
			}
		})
	}
}

// Clones share nothing that an evaluation changes.
func TestClonesRunAtOnce(t *testing.T) {
	p := compile(t, `let x = qty * 2; let s = split(sku, "-"); x + int(s[1])`)
	done := make(chan error)
	for n := range 4 {
		clone := p.Clone()
		go func() {
			r := row.New(columns)
			var err error
			for i := range 1000 {
				r.Values[0], r.Values[4] = row.IntOf(int64(n)), row.TextOf(fmt.Sprintf("A-%d", i))
				if v, evalErr := clone.Eval(r); evalErr != nil || v.Int() != int64(2*n+i) {
					err = fmt.Errorf("%d, %d: got %s, %w", n, i, v, evalErr)
					break
				}
			}
			done <- err
		}()
	}
	for range 4 {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}
