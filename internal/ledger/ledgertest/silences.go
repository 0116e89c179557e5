package ledgertest

import (
	"sync"
	"testing"
	"time"

	"tallyman/internal/delivery"
	"tallyman/internal/finding"
	"tallyman/internal/ledger"
	"tallyman/internal/silence"
)

// silenced makes a silence of two hours from the start of the tests.
func silenced(t testing.TB, id string, matchers ...string) silence.Silence {
	t.Helper()
	s := silence.Silence{
		ID: id, From: start, Until: start.Add(2 * time.Hour), Comment: "stocktake, 盘点", Author: "user:ann", Created: start.Add(time.Second),
	}
	for _, text := range matchers {
		m, err := silence.ParseMatcher(text)
		noError(t, err)
		s.Matchers = append(s.Matchers, m)
	}
	return s
}

// silenceText has the comparable parts of a silence.
type silenceText struct {
	ID, Comment, Author, EndedBy string
	Matchers                     []string
	From, Until, Created, Ended  time.Time
	Cron, Timezone               string
	Open                         time.Duration
	Events                       int64
}

func textOf(s *silence.Silence) silenceText {
	out := silenceText{
		ID: s.ID, Comment: s.Comment, Author: s.Author, EndedBy: s.EndedBy, From: s.From, Until: s.Until, Created: s.Created,
		Ended: s.Ended, Events: s.Events,
	}
	for _, m := range s.Matchers {
		out.Matchers = append(out.Matchers, m.String())
	}
	if s.Window != nil {
		out.Cron, out.Timezone, out.Open = s.Window.Cron, s.Window.Timezone, s.Window.Duration
	}
	return out
}

func (f *operationChecks) hasSilences(t testing.TB, want ...silence.Silence) {
	t.Helper()
	list, err := f.Silences(t.Context())
	noError(t, err)
	var got, texts []silenceText
	for i := range list {
		got = append(got, textOf(&list[i]))
	}
	for i := range want {
		texts = append(texts, textOf(&want[i]))
	}
	equal(t, texts, got)
}

func (f *operationChecks) silencesNumber(t testing.TB) int64 {
	t.Helper()
	numbers, err := f.Numbers(t.Context())
	noError(t, err)
	return numbers["silences"]
}

var silenceTests = []testCase{
	{"silences are kept as they were added, the latest first", func(t *testing.T, f *fixture) {
		f.hasSilences(t)
		number := f.silencesNumber(t)
		one := silenced(t, "s_1", "rule=negative-bin-stock", "warehouse=~1192.*", `area!=" inbound"`, `key=[119240,"A-01 左"]`, "key!=no_data")
		noError(t, f.AddSilence(t.Context(), Ann, &one))
		two := silenced(t, "s_2", "labels.rule!~x|y")
		window, err := silence.NewWindow("0 22 * * 6", "Asia/Shanghai", 8*time.Hour)
		noError(t, err)
		two.Window, two.Until, two.Created = window, time.Time{}, start.Add(time.Minute)
		noError(t, f.AddSilence(t.Context(), Ann, &two))
		f.hasSilences(t, two, one)
		equal(t, number+2, f.silencesNumber(t))
		isError(t, ledger.ErrExists, f.AddSilence(t.Context(), Ann, &one))
		got, err := f.Silence(t.Context(), "s_1")
		noError(t, err)
		equal(t, textOf(&one), textOf(&got))
		for _, id := range []string{"s_3", ""} {
			_, err = f.Silence(t.Context(), id)
			isError(t, ledger.ErrNotFound, err)
		}
		equal(t, number+2, f.silencesNumber(t))
	}},
	{"a silence is ended once", func(t *testing.T, f *fixture) {
		one := silenced(t, "s_1", "rule=x")
		noError(t, f.AddSilence(t.Context(), Ann, &one))
		number := f.silencesNumber(t)
		for i, want := range []bool{true, false} {
			ended, err := f.EndSilence(t.Context(), author([]string{"user:bob", "user:eve"}[i]), "s_1", start.Add(time.Duration(i+1)*time.Minute))
			noError(t, err)
			equal(t, want, ended)
		}
		one.Ended, one.EndedBy = start.Add(time.Minute), "user:bob"
		f.hasSilences(t, one)
		equal(t, number+1, f.silencesNumber(t))
		_, err := f.EndSilence(t.Context(), author("user:bob"), "s_2", start)
		isError(t, ledger.ErrNotFound, err)
		over := silenced(t, "s_2", "rule=x")
		noError(t, f.AddSilence(t.Context(), Ann, &over))
		ended, err := f.EndSilence(t.Context(), author("user:bob"), "s_2", over.Until)
		noError(t, err)
		equal(t, false, ended)
	}},
	{"findings remember the silences that hold them back, and are counted for each silence", func(t *testing.T, f *fixture) {
		f.register(t)
		held := insert("A", "B", "C")
		for i, by := range []string{"s_1", "s_1 s_2", ""} {
			held[i].Silenced, held[i].Ordinal, held[i].NoticeID, held[i].LastNotified = by, 0, "", time.Time{}
		}
		f.commit(t, 1, nil, held...)
		f.hasHeldBack(t, map[string]ledger.SilenceCount{"s_1": {Findings: 2}, "s_2": {Findings: 1}})
		f.hasStates(t, held...)
		for i := range held {
			held[i].Op, held[i].Silenced = ledger.Update, []string{"s_2", "", "s_2"}[i]
		}
		f.commit(t, 2, nil, held...)
		f.hasHeldBack(t, map[string]ledger.SilenceCount{"s_2": {Findings: 2}})
		f.hasStates(t, held...)
		one, err := f.Finding(t.Context(), rule, scope, "A")
		noError(t, err)
		equal(t, "s_2", one.Silenced)
	}},
	{"a commit counts the events that were dropped, once", func(t *testing.T, f *fixture) {
		f.register(t)
		one, two := silenced(t, "s_1", "rule=x"), silenced(t, "s_2", "rule=x")
		noError(t, f.AddSilence(t.Context(), Ann, &one))
		noError(t, f.AddSilence(t.Context(), Ann, &two))
		number := f.silencesNumber(t)
		c := f.claim(t, 1)
		run := commitOf(c)
		run.Silenced = map[string]int{"s_1": 3, "s_2": 1, "s_gone": 7}
		for range 2 { // repeated, as after a lost answer
			_, err := f.Commit(t.Context(), c, run)
			noError(t, err)
		}
		one.Events, two.Events = 3, 1
		f.hasSilences(t, one, two)
		equal(t, number, f.silencesNumber(t))
	}},
	{"a prune deletes the silences that were over before its time", func(t *testing.T, f *fixture) {
		over, ended, recurring := silenced(t, "s_1", "rule=x"), silenced(t, "s_2", "rule=x"), silenced(t, "s_3", "rule=x")
		window, err := silence.NewWindow("0 22 * * 6", "", 8*time.Hour)
		noError(t, err)
		recurring.Window, recurring.Until = window, time.Time{}
		ended.Until, ended.Window = time.Time{}, window
		for _, s := range []silence.Silence{over, ended, recurring} {
			noError(t, f.AddSilence(t.Context(), Ann, &s))
		}
		_, err = f.EndSilence(t.Context(), author("user:bob"), "s_2", start.Add(time.Hour))
		noError(t, err)
		_, err = f.Prune(t.Context(), start.Add(time.Hour), 100)
		noError(t, err)
		list, err := f.Silences(t.Context())
		noError(t, err)
		equal(t, 3, len(list))
		n, err := f.Prune(t.Context(), start.Add(3*time.Hour), 100)
		noError(t, err)
		equal(t, int64(2), n)
		f.hasSilences(t, recurring)
	}},
}

func (f *operationChecks) hasHeldBack(t testing.TB, want map[string]ledger.SilenceCount) {
	t.Helper()
	got, err := f.CountSilenced(t.Context())
	noError(t, err)
	equal(t, want, got)
}

// hasStates compares the open findings.
func (f *operationChecks) hasStates(t testing.TB, want ...ledger.FindingChange) {
	t.Helper()
	list, err := f.Findings(t.Context(), rule, scope)
	noError(t, err)
	got := map[string]finding.State{}
	for _, s := range list {
		got[s.Key] = s
	}
	states := map[string]finding.State{}
	for _, c := range want {
		states[c.Key] = c.State
	}
	equal(t, states, got)
}

// hold settles the claims as held back by the silence.
func (f *operationChecks) hold(t testing.TB, id string, claims []delivery.PushClaim, left time.Duration) {
	t.Helper()
	list := settled(claims, delivery.SettleHold, left)
	for i := range list {
		list[i].HeldBy, list[i].Error = id, ""
	}
	noError(t, f.SettlePushes(t.Context(), list))
}

func (f *operationChecks) heldBy(t testing.TB, seq int64) string {
	t.Helper()
	d, err := f.Delivery(t.Context(), seq)
	noError(t, err)
	return d.HeldBy
}

// hasWaiting checks which deliveries wait behind another or for a silence, the latest first.
func (f *operationChecks) hasWaiting(t testing.TB, want ...int64) {
	t.Helper()
	list, err := f.ListDeliveries(t.Context(), ledger.DeliveryFilter{Held: true, Limit: 100})
	noError(t, err)
	var got []int64
	for i := range list {
		got = append(got, list[i].Seq)
	}
	equal(t, want, got)
}

// silencePushTests are about the effect of silences on deliveries to push channels.
var silencePushTests = []testCase{
	{"a delivery that is held back is due when the silence ends, and no attempt counts", func(t *testing.T, f *fixture) {
		f.register(t)
		one := silenced(t, "s_1", "rule=x")
		noError(t, f.AddSilence(t.Context(), Ann, &one))
		f.commit(t, 1, to([]ledger.Target{important}, numbered("n_", 2)...))
		got := f.claimPushes(t, "a", 1).List
		f.hold(t, "s_1", got, time.Minute)
		equal(t, "s_1", f.heldBy(t, got[0].Seq))
		f.hasWaiting(t, got[0].Seq)
		f.hasAttempts(t, got[0].Seq, ledger.DeliveryPending, 0, "")
		f.hasHeldBack(t, map[string]ledger.SilenceCount{"s_1": {Deliveries: 1}})
		rest := f.claimPushes(t, "a", 10)
		equal(t, []string{"n_00001"}, claimedIDs(rest))
		f.settle(t, rest.List, delivery.SettleSent, 0)
		f.clock.Add(time.Minute)
		f.hasHeldBack(t, nil)
		f.hasWaiting(t)
		equal(t, "", f.heldBy(t, got[0].Seq))
		got = f.claimPushes(t, "b", 10).List
		equal(t, []string{"n_00000"}, claimedIDs(delivery.Claims{List: got}))
		equal(t, 0, got[0].Attempts)
		f.hold(t, "s_1", got, time.Minute)
		f.settle(t, got, delivery.SettleSent, 0) // an attempt that began before the silence ended
		f.hasHeldBack(t, nil)
	}},
	{"ending a silence lets go what it holds, and what it was about to hold", func(t *testing.T, f *fixture) {
		f.register(t)
		one, two := silenced(t, "s_1", "rule=x"), silenced(t, "s_2", "rule=x")
		noError(t, f.AddSilence(t.Context(), Ann, &one))
		noError(t, f.AddSilence(t.Context(), Ann, &two))
		f.commit(t, 1, to([]ledger.Target{important}, numbered("n_", 4)...))
		got := f.claimPushes(t, "a", 4).List
		f.hold(t, "s_1", got[:1], time.Hour)
		f.hold(t, "s_2", got[1:2], time.Hour)
		_, err := f.EndSilence(t.Context(), author("user:bob"), "s_1", start.Add(time.Minute))
		noError(t, err)
		f.hold(t, "s_1", got[2:3], time.Hour) // by a node that does not know that the silence has ended
		f.hold(t, "s_9", got[3:], time.Hour)
		again := f.claimPushes(t, "b", 10)
		equal(t, []string{"n_00000", "n_00002", "n_00003"}, claimedIDs(again))
		f.hasHeldBack(t, map[string]ledger.SilenceCount{"s_2": {Deliveries: 1}})
	}},
	{"what is held back keeps its order, its deadline and the expiry of its notice", func(t *testing.T, f *fixture) {
		f.register(t)
		one := silenced(t, "s_1", "rule=x")
		noError(t, f.AddSilence(t.Context(), Ann, &one))
		f.commit(t, 1, to([]ledger.Target{within(30 * time.Second)}, ofKey("A", 0), ofKey("A", 1)))
		got := f.claimPushes(t, "a", 10).List
		equal(t, []string{"A_a"}, claimedIDs(delivery.Claims{List: got}))
		f.hasWaiting(t, got[0].Seq+1) // a delivery that a node tries is not held back; the one behind it waits
		f.hold(t, "s_1", got, time.Hour)
		equal(t, 0, len(f.claimPushes(t, "a", 10).List))
		f.clock.Add(30 * time.Second)
		f.endPushes(t, 2, 0)
		f.hasHeldBack(t, nil)
		f.commit(t, 2, to([]ledger.Target{important}, newNotice("n_1")))
		got = f.claimPushes(t, "a", 10).List
		f.hold(t, "s_1", got, time.Hour)
		changed, _, err := f.RetryDeliveries(t.Context(), Ann, []int64{got[0].Seq})
		noError(t, err)
		equal(t, 1, len(changed))
		equal(t, "", f.heldBy(t, got[0].Seq))
		equal(t, 1, len(f.claimPushes(t, "b", 10).List))
	}},
	{"ending a silence while nodes hold back in its name leaves nothing behind", func(t *testing.T, f *fixture) {
		f.register(t)
		const rounds = 8
		b := f.other(t)
		for n := range rounds {
			one := silenced(t, "s_"+string(rune('a'+n)), "rule=x")
			noError(t, f.AddSilence(t.Context(), Ann, &one))
			f.commit(t, n+1, to([]ledger.Target{important}, numbered("n_"+one.ID, 5)...))
			got := f.claimPushes(t, "a", 5).List
			var wg sync.WaitGroup
			wg.Go(func() { f.hold(t, one.ID, got, time.Hour) })
			wg.Go(func() {
				if _, err := b.EndSilence(t.Context(), author("user:bob"), one.ID, start); err != nil {
					t.Error(err)
				}
			})
			wg.Wait()
			again := f.claimPushes(t, "b", 10).List
			equal(t, 5, len(again))
			f.settle(t, again, delivery.SettleSent, 0)
		}
		f.hasHeldBack(t, nil)
	}},
}
