package item_test

import (
	"testing"

	"tallyman/internal/item"
)

func FuzzRevision(f *testing.F) {
	for _, text := range []string{"=3,-,0", "+5,7250,12", "=1,-9,4", "", "=3", "=3,,0", "=9,-,0", "=3,-,-1", "-3,-,0", "=10,-,0", "=3,1.5,0"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		r, err := item.ParseRevision(text)
		if err != nil {
			return
		}
		again, err := item.ParseRevision(r.Text())
		if err != nil || *again != *r {
			t.Fatalf("%q is %+v, which is written as %q: %+v, %v", text, r, r.Text(), again, err)
		}
	})
}
