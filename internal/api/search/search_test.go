package search

import "testing"

// FuzzNoticeCursor wants every text refused that is not a cursor as it was given out.
func FuzzNoticeCursor(f *testing.F) {
	for _, s := range []string{"", "1.0.n_1", "1.0.n_1.2", "zz.-1.n", "-1.0.n", "1.0.", "9zzzzzzzzzzzzz.0.n", "+1.0.n", "1..n"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if p, ok := parseNoticeCursor(s); ok && (noticeCursor(p) != s || p.At.UnixMicro() <= 0 || p.N < 0) {
			t.Errorf("%q is taken as %+v", s, p)
		}
	})
}
