package ledgertest

import (
	"testing"

	"tallyman/internal/ledger"
	"tallyman/rules/row"
)

var rewindTests = []testCase{
	{"a watermark is moved back and forward, and tells where it was", func(t *testing.T, f *fixture) {
		_, err := f.Rewind(t.Context(), Ann, rewindTo(1))
		isError(t, ledger.ErrNotFound, err)
		f.register(t)
		f.rewinds(t, nil, 100) // there was no run yet
		f.isAt(t, 100)
		f.marks(t, 1, 200)
		f.rewinds(t, mark(200), 50)
		f.isAt(t, 50)
		f.rewinds(t, mark(50), 900)
		f.isAt(t, 900)
		f.marks(t, 2, 901)
		f.isAt(t, 901)
		// A rewind does not change the due times of firings.
		s, err := f.Scope(t.Context(), rule, scope)
		noError(t, err)
		equal(t, due(2), s.Done)
	}},
	{"a watermark is moved to a value for each column", func(t *testing.T, f *fixture) {
		f.register(t)
		r := rewindTo(0)
		r.Columns, r.To = []string{"at", "id"}, []row.Value{row.TimeOf(start), row.TextOf("7,8")}
		_, err := f.Rewind(t.Context(), Ann, r)
		noError(t, err)
		s, err := f.Scope(t.Context(), rule, scope)
		noError(t, err)
		equalWatermark(t, r.To, s.Watermark)
		for _, to := range [][]row.Value{nil, r.To[:1]} {
			r.To = to
			_, err = f.Rewind(t.Context(), Ann, r)
			isError(t, ledger.ErrInvalid, err)
		}
	}},
	{"each rule in each scope has a watermark of its own", func(t *testing.T, f *fixture) {
		f.register(t)
		_, err := f.Register(t.Context(), rule, "other", 0, start)
		noError(t, err)
		r := rewindTo(7)
		r.Scope = "other"
		_, err = f.Rewind(t.Context(), Ann, r)
		noError(t, err)
		s, err := f.Scope(t.Context(), rule, scope)
		noError(t, err)
		equalWatermark(t, nil, s.Watermark)
	}},
	{"a watermark is not moved while a firing runs", func(t *testing.T, f *fixture) {
		f.register(t)
		f.marks(t, 1, 100)
		c := f.claim(t, 2)
		_, err := f.other(t).Rewind(t.Context(), Ann, rewindTo(1))
		isError(t, ledger.ErrBusy, err)
		// A firing that continues after a pass counts as running, too.
		run := commitOf(c)
		run.Watermark, run.Again = mark(150), true
		_, err = f.Commit(t.Context(), c, run)
		noError(t, err)
		_, err = f.other(t).Rewind(t.Context(), Ann, rewindTo(1))
		isError(t, ledger.ErrBusy, err)
		f.isAt(t, 150)
		run = commitOf(c)
		run.Watermark = mark(200)
		_, err = f.Commit(t.Context(), c, run)
		noError(t, err)
		f.isAt(t, 200)
		f.rewinds(t, mark(200), 1)
	}},
	{"a firing whose lease was over does not write over a moved watermark, and is run again", func(t *testing.T, f *fixture) {
		f.register(t)
		f.marks(t, 1, 100)
		c := f.claim(t, 2)
		f.clock.Add(lease)
		f.rewinds(t, mark(100), 10)
		run := commitOf(c)
		run.Watermark = mark(200)
		_, err := f.Commit(t.Context(), c, run)
		isError(t, ledger.ErrFenced, err)
		isError(t, ledger.ErrFenced, f.Renew(t.Context(), c, lease))
		isError(t, ledger.ErrFenced, f.Release(t.Context(), c))
		f.isAt(t, 10)
		again, err := f.other(t).Claim(t.Context(), rule, scope, 0, due(3), "b", lease)
		noError(t, err)
		equal(t, due(2), again.Due)
		equal(t, true, again.Repeated)
		if again.Token <= c.Token {
			t.Errorf("token %d after %d", again.Token, c.Token)
		}
		run = commitOf(again)
		run.Watermark = mark(20)
		_, err = f.other(t).Commit(t.Context(), again, run)
		noError(t, err)
		f.isAt(t, 20)
	}},
	{"a moved watermark remembers no rows", func(t *testing.T, f *fixture) {
		f.register(t)
		f.looksBack(t, 1, &ledger.LookBackChange{From: mark(0), At: due(1), Add: []ledger.SeenRows{portionOf(1, 10, 3)}})
		f.rewinds(t, nil, 5)
		f.remembers(t, ledger.LookBack{})
		f.looksBack(t, 2, &ledger.LookBackChange{From: mark(5), At: due(2), Add: []ledger.SeenRows{portionOf(1, 10, 3)}})
		f.remembers(t, ledger.LookBack{From: mark(5), At: due(2), Seen: []ledger.SeenRows{portionOf(1, 10, 3)}})
	}},
	{"the ledger knows what `initial` was when a watermark began, or was moved", func(t *testing.T, f *fixture) {
		f.register(t)
		f.began(t, "")
		f.commit(t, 1, nil)
		f.began(t, "")
		for n, initial := range []string{`{"id":"0"}`, "", `{"id":"7"}`} {
			c := f.claim(t, 2+n)
			run := commitOf(c)
			run.Watermark, run.Initial = mark(int64(n)), initial
			_, err := f.Commit(t.Context(), c, run)
			noError(t, err)
			if initial == "" {
				initial = `{"id":"0"}`
			}
			f.began(t, initial)
		}
		f.rewinds(t, mark(2), 1)
		f.began(t, rewindTo(1).Initial)
	}},
}

func rewindTo(n int64) *ledger.Rewind {
	return &ledger.Rewind{Rule: rule, Scope: scope, Columns: []string{"id"}, To: mark(n), Initial: `{"id":"100"}`, Reason: "<rows> were missed"}
}

// rewinds moves the watermark and checks the previous position.
func (f *base) rewinds(t testing.TB, want []row.Value, to int64) {
	t.Helper()
	before, err := f.Rewind(t.Context(), Ann, rewindTo(to))
	noError(t, err)
	equalWatermark(t, want, before)
}

// marks commits the n-th firing, which reads up to a watermark.
func (f *base) marks(t testing.TB, n int, to int64) {
	t.Helper()
	c := f.claim(t, n)
	run := commitOf(c)
	run.Watermark = mark(to)
	_, err := f.Commit(t.Context(), c, run)
	noError(t, err)
}

// isAt checks the watermark, as every node sees it.
func (f *base) isAt(t testing.TB, want int64) {
	t.Helper()
	s, err := f.other(t).Scope(t.Context(), rule, scope)
	noError(t, err)
	equalWatermark(t, mark(want), s.Watermark)
}

// began checks the recorded `initial`.
func (f *base) began(t testing.TB, want string) {
	t.Helper()
	s, err := f.Scope(t.Context(), rule, scope)
	noError(t, err)
	equal(t, want, s.Initial)
}
