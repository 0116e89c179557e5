package ledgertest

import (
	"testing"
	"time"

	"tallyman/internal/finding"
	"tallyman/internal/ledger"
)

var firingTests = []testCase{
	{"a rule is registered once", func(t *testing.T, f *fixture) {
		_, err := f.Scope(t.Context(), rule, scope)
		isError(t, ledger.ErrNotFound, err)
		s, err := f.Register(t.Context(), rule, scope, start)
		noError(t, err)
		equal(t, ledger.ScopeState{Registered: start}, s)
		s, err = f.Register(t.Context(), rule, scope, start.Add(time.Hour))
		noError(t, err)
		equal(t, start, s.Registered)
		s, err = f.Register(t.Context(), rule, "", start.Add(time.Hour))
		noError(t, err)
		equal(t, start.Add(time.Hour), s.Registered)
	}},
	{"a claim is in force until its lease ends", func(t *testing.T, f *fixture) {
		f.register(t)
		c := f.claim(t, 1)
		want := ledger.Claim{
			Rule: rule, Scope: scope, Due: due(1), Node: "a", Token: c.Token, LeaseUntil: start.Add(lease),
		}
		equal(t, want, c)
		s, err := f.Scope(t.Context(), rule, scope)
		noError(t, err)
		equal(t, &want, s.Running)
		f.clock.Add(lease - time.Microsecond)
		_, err = f.other(t).Claim(t.Context(), rule, scope, due(2), "b", lease)
		isError(t, ledger.ErrBusy, err)
		f.clock.Add(time.Microsecond)
		s, err = f.Scope(t.Context(), rule, scope)
		noError(t, err)
		if s.Running != nil {
			t.Fatalf("the claim is still in force: %+v", s.Running)
		}
	}},
	{"a rule that is not registered cannot be claimed", func(t *testing.T, f *fixture) {
		_, err := f.Claim(t.Context(), rule, scope, due(1), "a", lease)
		isError(t, ledger.ErrNotFound, err)
	}},
	{"a node may not take its own running firing twice", func(t *testing.T, f *fixture) {
		f.register(t)
		f.claim(t, 1)
		_, err := f.Claim(t.Context(), rule, scope, due(1), "a", lease)
		isError(t, ledger.ErrBusy, err)
	}},
	{"a firing that is done, or lies before it, is not claimed", func(t *testing.T, f *fixture) {
		f.register(t)
		f.commit(t, 2, nil)
		for n := range 3 {
			_, err := f.Claim(t.Context(), rule, scope, due(n), "a", lease)
			isError(t, ledger.ErrDone, err)
		}
		f.claim(t, 3)
		_, err := f.Claim(t.Context(), rule, scope, due(1), "b", lease)
		isError(t, ledger.ErrDone, err)
	}},
	{"an abandoned firing comes first, with a higher token", func(t *testing.T, f *fixture) {
		f.register(t)
		c := f.claim(t, 1)
		list, err := f.Abandoned(t.Context())
		noError(t, err)
		equal(t, 0, len(list))
		f.clock.Add(lease)
		list, err = f.Abandoned(t.Context())
		noError(t, err)
		equal(t, []ledger.Claim{{
			Rule: rule, Scope: scope, Due: due(1), Node: "a", Token: c.Token, LeaseUntil: c.LeaseUntil, Repeated: true,
		}}, list)

		b := f.other(t)
		again, err := b.Claim(t.Context(), rule, scope, due(4), "b", lease)
		noError(t, err)
		equal(t, due(1), again.Due)
		equal(t, true, again.Repeated)
		if again.Token <= c.Token {
			t.Fatalf("token %d after %d", again.Token, c.Token)
		}
		_, err = f.Commit(t.Context(), c, commitOf(c))
		isError(t, ledger.ErrFenced, err)
		_, err = b.Commit(t.Context(), again, commitOf(again))
		noError(t, err)
		own, err := b.Claim(t.Context(), rule, scope, due(4), "b", lease)
		noError(t, err)
		equal(t, due(4), own.Due)
		equal(t, false, own.Repeated)
	}},
	{"renewing keeps the claim, also late, but not when another has it", func(t *testing.T, f *fixture) {
		f.register(t)
		c := f.claim(t, 1)
		f.clock.Add(lease / 2)
		noError(t, f.Renew(t.Context(), c, lease))
		f.clock.Add(lease - time.Microsecond)
		_, err := f.Claim(t.Context(), rule, scope, due(2), "b", lease)
		isError(t, ledger.ErrBusy, err)
		f.clock.Add(time.Hour)
		noError(t, f.Renew(t.Context(), c, lease))
		f.clock.Add(lease)
		_, err = f.Claim(t.Context(), rule, scope, due(2), "b", lease)
		noError(t, err)
		isError(t, ledger.ErrFenced, f.Renew(t.Context(), c, lease))
	}},
	{"a released firing is free at once, and its claim is worth nothing", func(t *testing.T, f *fixture) {
		f.register(t)
		c := f.claim(t, 1)
		noError(t, f.Release(t.Context(), c))
		isError(t, ledger.ErrFenced, f.Release(t.Context(), c))
		isError(t, ledger.ErrFenced, f.Renew(t.Context(), c, lease))
		_, err := f.Commit(t.Context(), c, commitOf(c))
		isError(t, ledger.ErrFenced, err)
		list, err := f.Abandoned(t.Context())
		noError(t, err)
		equal(t, 1, len(list))
		next, err := f.other(t).Claim(t.Context(), rule, scope, due(2), "b", lease)
		noError(t, err)
		equal(t, due(1), next.Due)
		equal(t, true, next.Repeated)
	}},
	{"scopes and rules do not hold each other up", func(t *testing.T, f *fixture) {
		f.register(t)
		f.claim(t, 1)
		for _, other := range [][2]string{{rule, "119241"}, {"other", scope}} {
			_, err := f.Register(t.Context(), other[0], other[1], start)
			noError(t, err)
			_, err = f.Claim(t.Context(), other[0], other[1], due(1), "b", lease)
			noError(t, err)
		}
	}},
	{"a skipped firing is recorded once and never claimed", func(t *testing.T, f *fixture) {
		isError(t, ledger.ErrNotFound, f.Skip(t.Context(), rule, scope, due(2), "b", "overlap"))
		f.register(t)
		c := f.claim(t, 1)
		f.clock.Add(time.Second)
		noError(t, f.Skip(t.Context(), rule, scope, due(1), "b", "it runs"))
		noError(t, f.Skip(t.Context(), rule, scope, due(2), "b", "overlap"))
		noError(t, f.Skip(t.Context(), rule, scope, due(2), "c", "again"))
		_, err := f.Commit(t.Context(), c, commitOf(c))
		noError(t, err)
		_, err = f.Claim(t.Context(), rule, scope, due(2), "a", lease)
		isError(t, ledger.ErrDone, err)
		noError(t, f.Skip(t.Context(), rule, scope, due(1), "b", "done"))

		runs, err := f.Runs(t.Context(), rule, nil, 10)
		noError(t, err)
		skipped := ledger.Run{
			Rule: rule, Scope: scope, Due: due(2), Node: "b", Started: start.Add(time.Second),
			Outcome: ledger.OutcomeSkipped, Error: "overlap",
		}
		equal(t, []ledger.Run{skipped, okRun(c)}, runs)
		s, err := f.Scope(t.Context(), rule, scope)
		noError(t, err)
		equal(t, due(2), s.Done)
		equal(t, due(1), s.LastDue)
		f.claim(t, 3)
	}},
	{"forgetting closes findings and state and fences the claim", func(t *testing.T, f *fixture) {
		f.subscribed(t)
		_, err := f.Register(t.Context(), "other", "", start)
		noError(t, err)
		f.commit(t, 1, to([]ledger.Target{inbox}, newNotice("n_1")), insert("k1")...)
		c := f.claim(t, 2)
		n, err := f.Forget(t.Context(), map[string]bool{ledger.ScopeKey("other", ""): true})
		noError(t, err)
		equal(t, int64(1), n)
		_, err = f.Commit(t.Context(), c, commitOf(c))
		isError(t, ledger.ErrFenced, err)
		_, err = f.Scope(t.Context(), rule, scope)
		isError(t, ledger.ErrNotFound, err)
		_, err = f.Scope(t.Context(), "other", "")
		noError(t, err)
		equal(t, []string{"n_1"}, ids(f.pending(t, inboxLane)))

		f.register(t)
		list, err := f.Findings(t.Context(), rule, scope)
		noError(t, err)
		equal(t, 0, len(list))
		again := f.claim(t, 2)
		if again.Token == c.Token {
			t.Fatal("a forgotten claim's token came again")
		}
		_, err = f.Commit(t.Context(), c, commitOf(c))
		isError(t, ledger.ErrFenced, err)
		n, err = f.Forget(t.Context(), map[string]bool{ledger.ScopeKey("other", ""): true, ledger.ScopeKey(rule, scope): true})
		noError(t, err)
		equal(t, int64(0), n)
	}},
	{"the server's clock judges when no other is given", func(t *testing.T, f *fixture) {
		noError(t, f.Close())
		l := f.db.Open(t, ledger.Options{})
		_, err := l.Register(t.Context(), rule, scope, start)
		noError(t, err)
		before := time.Now().Add(-time.Minute)
		c, err := l.Claim(t.Context(), rule, scope, due(1), "a", time.Hour)
		noError(t, err)
		if d := c.LeaseUntil.Sub(before); d < time.Hour || d > time.Hour+3*time.Minute {
			t.Fatalf("the lease of an hour ends at %s", c.LeaseUntil)
		}
		_, err = l.Claim(t.Context(), rule, scope, due(2), "b", time.Hour)
		isError(t, ledger.ErrBusy, err)
		noError(t, l.Renew(t.Context(), c, 0))
		_, err = l.Claim(t.Context(), rule, scope, due(2), "b", time.Hour)
		noError(t, err)
	}},
	{"the state of a scope comes back as it was written", func(t *testing.T, f *fixture) {
		f.register(t)
		c := f.claim(t, 1)
		run := commitOf(c)
		run.Scope = finding.Scope{LastDue: due(1), LastOKDue: due(0), Clock: 1234567 * time.Microsecond}
		_, err := f.Commit(t.Context(), c, run)
		noError(t, err)
		s, err := f.Scope(t.Context(), rule, scope)
		noError(t, err)
		equal(t, ledger.ScopeState{Scope: run.Scope, Registered: start, Done: due(1)}, s)
	}},
}
