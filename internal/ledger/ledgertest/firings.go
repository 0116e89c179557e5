package ledgertest

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"tallyman/internal/delivery"
	"tallyman/internal/finding"
	"tallyman/internal/ledger"
	"tallyman/internal/notice"
)

var firingTests = []testCase{
	{"a rule is registered once", func(t *testing.T, f *fixture) {
		_, err := f.Scope(t.Context(), rule, scope)
		isError(t, ledger.ErrNotFound, err)
		s, err := f.Register(t.Context(), rule, scope, 0, start)
		noError(t, err)
		equal(t, ledger.ScopeState{Registered: start}, s)
		s, err = f.Register(t.Context(), rule, scope, 0, start.Add(time.Hour))
		noError(t, err)
		equal(t, start, s.Registered)
		s, err = f.Register(t.Context(), rule, "", 0, start.Add(time.Hour))
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
		_, err = f.other(t).Claim(t.Context(), rule, scope, 0, due(2), "b", lease)
		isError(t, ledger.ErrBusy, err)
		f.clock.Add(time.Microsecond)
		s, err = f.Scope(t.Context(), rule, scope)
		noError(t, err)
		if s.Running != nil {
			t.Fatalf("the claim is still in force: %+v", s.Running)
		}
	}},
	{"a rule that is not registered cannot be claimed", func(t *testing.T, f *fixture) {
		_, err := f.Claim(t.Context(), rule, scope, 0, due(1), "a", lease)
		isError(t, ledger.ErrNotFound, err)
	}},
	{"a node may not take its own running firing twice", func(t *testing.T, f *fixture) {
		f.register(t)
		f.claim(t, 1)
		_, err := f.Claim(t.Context(), rule, scope, 0, due(1), "a", lease)
		isError(t, ledger.ErrBusy, err)
	}},
	{"a firing that is done, or lies before it, is not claimed", func(t *testing.T, f *fixture) {
		f.register(t)
		f.commit(t, 2, nil)
		for n := range 3 {
			_, err := f.Claim(t.Context(), rule, scope, 0, due(n), "a", lease)
			isError(t, ledger.ErrDone, err)
		}
		f.claim(t, 3)
		_, err := f.Claim(t.Context(), rule, scope, 0, due(1), "b", lease)
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
		again, err := b.Claim(t.Context(), rule, scope, 0, due(4), "b", lease)
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
		own, err := b.Claim(t.Context(), rule, scope, 0, due(4), "b", lease)
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
		_, err := f.Claim(t.Context(), rule, scope, 0, due(2), "b", lease)
		isError(t, ledger.ErrBusy, err)
		f.clock.Add(time.Hour)
		noError(t, f.Renew(t.Context(), c, lease))
		f.clock.Add(lease)
		_, err = f.Claim(t.Context(), rule, scope, 0, due(2), "b", lease)
		noError(t, err)
		isError(t, ledger.ErrFenced, f.Renew(t.Context(), c, lease))
	}},
	{"a released firing is free at once, and its claim is void", func(t *testing.T, f *fixture) {
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
		next, err := f.other(t).Claim(t.Context(), rule, scope, 0, due(2), "b", lease)
		noError(t, err)
		equal(t, due(1), next.Due)
		equal(t, true, next.Repeated)
	}},
	{"scopes and rules do not hold each other up", func(t *testing.T, f *fixture) {
		f.register(t)
		f.claim(t, 1)
		for _, other := range [][2]string{{rule, "119241"}, {"other", scope}} {
			_, err := f.Register(t.Context(), other[0], other[1], 0, start)
			noError(t, err)
			_, err = f.Claim(t.Context(), other[0], other[1], 0, due(1), "b", lease)
			noError(t, err)
		}
	}},
	{"a skipped firing is recorded once and never claimed", func(t *testing.T, f *fixture) {
		_, err := f.Skip(t.Context(), rule, scope, 0, due(2), "b", "overlap")
		isError(t, ledger.ErrNotFound, err)
		f.register(t)
		c := f.claim(t, 1)
		f.clock.Add(time.Second)
		equal(t, false, f.skip(t, 0, 1, "b", "it runs"))
		equal(t, true, f.skip(t, 0, 2, "b", "overlap"))
		equal(t, false, f.skip(t, 0, 2, "c", "again"))
		_, err = f.Commit(t.Context(), c, commitOf(c))
		noError(t, err)
		_, err = f.Claim(t.Context(), rule, scope, 0, due(2), "a", lease)
		isError(t, ledger.ErrDone, err)
		equal(t, false, f.skip(t, 0, 1, "b", "done"))

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
		_, err := f.Register(t.Context(), "other", "", 0, start)
		noError(t, err)
		f.commit(t, 1, to([]ledger.Target{inbox}, newNotice("n_1")), insert("k1")...)
		c := f.claim(t, 2)
		equal(t, 1, f.forget(t, ledger.ScopeKey("other", "")))
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
		equal(t, 0, f.forget(t, ledger.ScopeKey("other", ""), ledger.ScopeKey(rule, scope)))
	}},
	{"the server's clock judges when no other is given", func(t *testing.T, f *fixture) {
		noError(t, f.Close())
		l := f.db.Open(t, ledger.Options{})
		_, err := l.Register(t.Context(), rule, scope, 0, start)
		noError(t, err)
		before := time.Now().Add(-time.Minute)
		c, err := l.Claim(t.Context(), rule, scope, 0, due(1), "a", time.Hour)
		noError(t, err)
		if d := c.LeaseUntil.Sub(before); d < time.Hour || d > time.Hour+3*time.Minute {
			t.Fatalf("the lease of an hour ends at %s", c.LeaseUntil)
		}
		_, err = l.Claim(t.Context(), rule, scope, 0, due(2), "b", time.Hour)
		isError(t, ledger.ErrBusy, err)
		noError(t, l.Renew(t.Context(), c, 0))
		_, err = l.Claim(t.Context(), rule, scope, 0, due(2), "b", time.Hour)
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

var removalTests = []testCase{
	{"a removed rule is listed with the targets of its resolutions, from its last run", func(t *testing.T, f *fixture) {
		f.register(t)
		_, err := f.Register(t.Context(), "other", "", 0, start)
		noError(t, err)
		strategy := delivery.Strategy{Kind: delivery.Timed, Within: time.Hour, Retry: 3}
		back := []ledger.Target{inbox, {Sink: "sms", Strategy: &strategy}, {Sink: inboxSink, Inbox: true, Recipients: []string{"shadow:x"}}}
		f.commitBack(t, 1, back)
		want := []ledger.RemovedScope{{Rule: rule, Scope: scope, LastDue: due(1), Back: back}}
		f.hasRemoved(t, want, ledger.ScopeKey("other", ""))
		f.hasRemoved(t, nil, ledger.ScopeKey("other", ""), ledger.ScopeKey(rule, scope))
		f.commitBack(t, 2, nil)
		f.hasRemoved(t, []ledger.RemovedScope{{Rule: rule, Scope: scope, LastDue: due(2)}}, ledger.ScopeKey("other", ""))
	}},
	{"a removed rule is closed in portions, each with its resolutions", func(t *testing.T, f *fixture) {
		f.subscribed(t)
		f.commit(t, 1, to([]ledger.Target{inbox}, newNotice("n_a"), newNotice("n_b")), insert("a", "b", "quiet")...)
		equal(t, 2, len(f.pending(t, inboxLane)))
		got := f.forgets(t, portion(1, "a"))
		equal(t, ledger.CommitResult{Deliveries: 1, Lanes: []ledger.Lane{inboxLane}}, got)
		f.hasFindings(t, firing("b"), firing("quiet"))
		_, err := f.Scope(t.Context(), rule, scope)
		noError(t, err)

		last := portion(1, "b")
		last.Last = true
		f.forgets(t, last)
		_, err = f.Scope(t.Context(), rule, scope)
		isError(t, ledger.ErrNotFound, err)
		f.register(t)
		f.hasFindings(t)
		equal(t, []string{"n_a", "n_b", "n_a resolved", "n_b resolved"}, ids(f.pending(t, inboxLane)))
	}},
	{"a portion of findings that have changed since they were read changes nothing", func(t *testing.T, f *fixture) {
		f.subscribed(t)
		f.commit(t, 1, to([]ledger.Target{inbox}, newNotice("n_a"), newNotice("n_b")), insert("a", "b")...)
		unread := portion(1, "a", "b")
		f.commit(t, 2, nil) // a run after the findings were read
		f.refuses(t, unread)
		f.refuses(t, portion(2, "a", "other"))
		f.hasFindings(t, firing("a"), firing("b"))
		f.forgets(t, portion(2, "a"))
		f.refuses(t, portion(2, "a")) // another node with the same old findings
		last := portion(2)
		last.Last = true
		f.forgets(t, last)
		f.refuses(t, last)
		equal(t, []string{"n_a", "n_b", "n_a resolved"}, ids(f.pending(t, inboxLane)))
	}},
	{"a resolution of a removed rule goes where its notice went, and to nobody else", func(t *testing.T, f *fixture) {
		f.subscribed(t)
		f.commit(t, 1, to([]ledger.Target{{Sink: "work"}}, newNotice("n_a")), insert("a")...)
		f.forgets(t, portion(1, "a"))
		equal(t, 0, len(f.pending(t, inboxLane)))
		equal(t, []string{"n_a"}, ids(f.pending(t, ledger.Lane{Sink: "work"})))
	}},
}

var removalPushTests = []testCase{
	{"of a removed rule, deliveries with `unless: resolved` are canceled, and the others go out", func(t *testing.T, f *fixture) {
		f.register(t)
		f.commit(t, 1, to([]ledger.Target{delayed(time.Minute, delivery.UnlessResolved)}, ofKey("a", 0)), insert("a")...)
		f.commit(t, 2, to([]ledger.Target{delayed(time.Minute, "")}, ofKey("b", 0)), insert("b")...)
		p := &ledger.ForgetPortion{Rule: rule, Scope: scope, LastDue: due(2), Keys: []string{"a", "b"}, Over: []string{"a_a", "b_a"}, Last: true}
		equal(t, ledger.CommitResult{}, f.forgets(t, p))
		f.canceledBecause(t, gateway, map[string]string{"a_a": "the finding is over"})
		f.clock.Add(time.Minute)
		equal(t, []string{"b_a"}, claimedIDs(f.claimPushes(t, "a", 10)))
	}},
	{"nodes that close a removed rule at once resolve each notice once", func(t *testing.T, f *fixture) {
		f.subscribed(t)
		const many = 30
		var keys []string
		var notices []*notice.Notice
		for i := range many {
			keys = append(keys, fmt.Sprintf("%02d", i))
			notices = append(notices, newNotice("n_"+keys[i]))
		}
		f.commit(t, 1, to([]ledger.Target{inbox}, notices...), insert(keys...)...)
		f.onNodes(t, func(ctx context.Context, l ledger.Ledger, _ string) error {
			for range 20 * many {
				removed, err := l.Removed(ctx, nil)
				if err != nil || len(removed) == 0 {
					return err
				}
				left, err := l.Findings(ctx, rule, scope)
				if err != nil {
					return err
				}
				p := portion(1, keysOf(left[:min(3, len(left))])...)
				p.Last = len(left) <= 3
				if _, err := l.Forget(ctx, p); err != nil && !errors.Is(err, ledger.ErrFenced) {
					return err
				}
			}
			return errors.New("the rule is never closed")
		})
		equal(t, 2*many, len(f.pending(t, inboxLane)))
		f.hasRemoved(t, nil)
	}},
}

func keysOf(states []finding.State) []string {
	keys := make([]string, len(states))
	for i := range states {
		keys[i] = states[i].Key
	}
	return keys
}

// portion makes a portion that closes the findings with these keys after the n-th run. The portion resolves the notices
// whose ids insert gives to the findings.
func portion(n int, keys ...string) *ledger.ForgetPortion {
	p := &ledger.ForgetPortion{Rule: rule, Scope: scope, LastDue: due(n), Keys: keys}
	for _, key := range keys {
		id := firing(key).NoticeID
		over := newNotice(id + " resolved")
		over.Key, over.Status = newNotice(id).Key, notice.Resolved
		p.Notices = append(p.Notices, ledger.NewNotice{Notice: over, Sinks: []ledger.Target{inbox}, After: id})
		p.Over = append(p.Over, id)
	}
	return p
}

func (f *base) forgets(t testing.TB, p *ledger.ForgetPortion) ledger.CommitResult {
	t.Helper()
	got, err := f.other(t).Forget(t.Context(), p)
	noError(t, err)
	return got
}

func (f *base) refuses(t testing.TB, p *ledger.ForgetPortion) {
	t.Helper()
	_, err := f.Forget(t.Context(), p)
	isError(t, ledger.ErrFenced, err)
}

// commitBack commits the n-th run of a rule whose resolutions go to back.
func (f *base) commitBack(t testing.TB, n int, back []ledger.Target) {
	t.Helper()
	c := f.claim(t, n)
	run := commitOf(c)
	run.Back = back
	_, err := f.Commit(t.Context(), c, run)
	noError(t, err)
}

func (f *base) removed(t testing.TB, known []string) []ledger.RemovedScope {
	t.Helper()
	set := map[string]bool{}
	for _, key := range known {
		set[key] = true
	}
	got, err := f.Removed(t.Context(), set)
	noError(t, err)
	return got
}

func (f *base) hasRemoved(t testing.TB, want []ledger.RemovedScope, known ...string) {
	t.Helper()
	equal(t, want, f.removed(t, known))
}

// forget closes all rules and scopes that are not in known, without resolutions, and returns how many.
func (f *base) forget(t testing.TB, known ...string) int {
	t.Helper()
	removed := f.removed(t, known)
	for _, r := range removed {
		_, err := f.Forget(t.Context(), &ledger.ForgetPortion{Rule: r.Rule, Scope: r.Scope, LastDue: r.LastDue, Last: true})
		noError(t, err)
	}
	return len(removed)
}
