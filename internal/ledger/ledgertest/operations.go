package ledgertest

import (
	"crypto/sha256"
	"sync"
	"testing"
	"time"

	"tallyman/internal/finding"
	"tallyman/internal/ledger"
)

var tokenTests = []testCase{
	{"tokens are listed as they were added, the latest first", func(t *testing.T, f *fixture) {
		f.hasTokens(t, f)
		bare := ledger.Token{ID: "t_bare", Hash: hashOf("bare"), Name: "bare", Subject: "service:x", Created: start, CreatedBy: "user:ann"}
		noError(t, f.AddToken(t.Context(), author(bare.CreatedBy), bare))
		full := tokenOf("t_full", time.Minute)
		noError(t, f.other(t).AddToken(t.Context(), author(full.CreatedBy), full))
		same := tokenOf("t_also", time.Minute)
		noError(t, f.AddToken(t.Context(), author(same.CreatedBy), same))
		f.hasTokens(t, f, same, full, bare)
		f.hasTokens(t, f.other(t), same, full, bare)
	}},
	{"an id and a hash are there once", func(t *testing.T, f *fixture) {
		first := tokenOf("t_1", 0)
		noError(t, f.AddToken(t.Context(), author(first.CreatedBy), first))
		again := tokenOf("t_1", time.Minute)
		again.Hash = hashOf("another")
		isError(t, ledger.ErrExists, f.AddToken(t.Context(), author(again.CreatedBy), again))
		again.ID, again.Hash = "t_2", first.Hash
		isError(t, ledger.ErrExists, f.AddToken(t.Context(), author(again.CreatedBy), again))
		f.hasTokens(t, f, first)
		equal(t, 1, f.number(t, "tokens"))
	}},
	{"a token is revoked once", func(t *testing.T, f *fixture) {
		one, two := tokenOf("t_1", 0), tokenOf("t_2", time.Minute)
		noError(t, f.AddToken(t.Context(), author(one.CreatedBy), one))
		noError(t, f.AddToken(t.Context(), author(two.CreatedBy), two))
		isError(t, ledger.ErrNotFound, f.RevokeToken(t.Context(), author("user:ann"), "t_none", start))
		equal(t, 2, f.number(t, "tokens"))
		noError(t, f.other(t).RevokeToken(t.Context(), author("user:ann"), one.ID, start.Add(time.Hour)))
		equal(t, 3, f.number(t, "tokens"))
		noError(t, f.RevokeToken(t.Context(), author("user:bob"), one.ID, start.Add(2*time.Hour)))
		equal(t, 3, f.number(t, "tokens"))
		one.Revoked, one.RevokedBy = start.Add(time.Hour), "user:ann"
		f.hasTokens(t, f, two, one)
	}},
	{"the last use is kept, and is no change", func(t *testing.T, f *fixture) {
		one, two := tokenOf("t_1", 0), tokenOf("t_2", time.Minute)
		noError(t, f.AddToken(t.Context(), author(one.CreatedBy), one))
		noError(t, f.AddToken(t.Context(), author(two.CreatedBy), two))
		noError(t, f.UseTokens(t.Context(), nil))
		noError(t, f.UseTokens(t.Context(), map[string]time.Time{"t_1": start.Add(time.Hour), "t_none": start}))
		noError(t, f.other(t).UseTokens(t.Context(), map[string]time.Time{"t_1": start.Add(time.Minute), "t_2": start}))
		one.Used, two.Used = start.Add(time.Hour), start
		f.hasTokens(t, f, two, one)
		equal(t, 2, f.number(t, "tokens"))
	}},
	{"tokens that ended long ago are forgotten", func(t *testing.T, f *fixture) {
		expired, revoked, live, endless := tokenOf("t_1", 0), tokenOf("t_2", 0), tokenOf("t_3", 0), tokenOf("t_4", 0)
		expired.Expires, live.Expires, endless.Expires = start.Add(time.Hour), start.Add(3*time.Hour), time.Time{}
		for _, token := range []ledger.Token{expired, revoked, live, endless} {
			noError(t, f.AddToken(t.Context(), author(token.CreatedBy), token))
		}
		noError(t, f.RevokeToken(t.Context(), author("user:ann"), revoked.ID, start.Add(time.Hour)))
		for _, c := range []struct {
			before time.Duration
			want   int64
		}{{time.Hour, 0}, {2 * time.Hour, 2}, {2 * time.Hour, 0}} {
			n, err := f.ForgetTokens(t.Context(), start.Add(c.before))
			noError(t, err)
			equal(t, c.want, n)
		}
		f.hasTokens(t, f, live, endless)
		equal(t, 6, f.number(t, "tokens"))
	}},
	{"uses and revocations at once", func(t *testing.T, f *fixture) {
		ids := []string{"t_1", "t_2", "t_3"}
		for _, id := range ids {
			noError(t, f.AddToken(t.Context(), author("local:root"), tokenOf(id, 0)))
		}
		a, b := ledger.Ledger(f), f.other(t)
		var wg sync.WaitGroup
		for i := range 20 {
			l, used := a, map[string]time.Time{}
			if i%2 == 1 {
				l = b
			}
			for _, id := range ids {
				used[id] = start.Add(time.Duration(i) * time.Minute)
			}
			wg.Go(func() {
				if err := l.UseTokens(t.Context(), used); err != nil {
					t.Error(err)
				}
			})
			wg.Go(func() {
				if err := l.RevokeToken(t.Context(), author("user:ann"), ids[i%len(ids)], start); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		list, err := f.ListTokens(t.Context())
		noError(t, err)
		for _, token := range list {
			equal(t, []time.Time{start, start.Add(19 * time.Minute)}, []time.Time{token.Revoked, token.Used})
		}
		equal(t, 6, f.number(t, "tokens"))
	}},
}

// tokenOf makes a token that is valid for a day. The token was created at start plus after.
func tokenOf(id string, after time.Duration) ledger.Token {
	return ledger.Token{
		ID: id, Hash: hashOf(id), Name: "of the WMS", Subject: "service:wms", Access: []string{"service", "producer"},
		Subscribers: []string{"user:1", "role:keeper"}, Warehouses: []string{"119240", "119241"},
		Created: start.Add(after), CreatedBy: "local:root", Expires: start.Add(after + 24*time.Hour),
	}
}

func hashOf(text string) []byte {
	sum := sha256.Sum256([]byte(text))
	return sum[:]
}

func (f *operationChecks) hasTokens(t testing.TB, l ledger.Ledger, want ...ledger.Token) {
	t.Helper()
	got, err := l.ListTokens(t.Context())
	noError(t, err)
	equal(t, want, got)
}

// number returns the ledger's number with that name.
func (f *operationChecks) number(t testing.TB, name string) int {
	t.Helper()
	numbers, err := f.Numbers(t.Context())
	noError(t, err)
	return int(numbers[name])
}

var switchTests = []testCase{
	{"a switch is set, replaced and cleared, and each change is counted", func(t *testing.T, f *fixture) {
		before := f.number(t, "switches")
		off := ledger.Switch{Rule: rule, Scope: scope, State: ledger.SwitchOff, Until: start.Add(time.Hour), At: start, Reason: "stocktake", By: "user:ann"}
		all := ledger.Switch{Rule: ledger.Every, Scope: ledger.Every, State: ledger.SwitchOff, At: start, By: "user:bo"}
		noError(t, f.SetSwitch(t.Context(), author(off.By), off))
		noError(t, f.SetSwitch(t.Context(), author(all.By), all))
		f.hasSwitches(t, all, off)
		off = ledger.Switch{Rule: rule, Scope: scope, State: ledger.SwitchCleared, At: start.Add(time.Minute), By: "user:bo"}
		noError(t, f.SetSwitch(t.Context(), author(off.By), off))
		f.hasSwitches(t, all, off)
		equal(t, before+3, f.number(t, "switches"))
	}},
	{"a switch outlives its rule", func(t *testing.T, f *fixture) {
		f.register(t)
		off := ledger.Switch{Rule: rule, Scope: scope, State: ledger.SwitchOff, At: start, By: "user:ann"}
		noError(t, f.SetSwitch(t.Context(), author(off.By), off))
		f.forget(t)
		f.hasSwitches(t, off)
	}},
	{"a thaw is recorded with the scope, and leaves the findings alone", func(t *testing.T, f *fixture) {
		f.register(t)
		c := f.claim(t, 5)
		present, absent := firing(`["A"]`), firing(`["B"]`)
		absent.AbsentSince = c.Due.Add(-4 * time.Minute)
		run := commitOf(c)
		run.Scope = finding.Scope{LastDue: c.Due, LastOKDue: c.Due, Clock: time.Minute}
		run.Findings = []ledger.FindingChange{{State: present, Op: ledger.Insert}, {State: absent, Op: ledger.Insert}}
		_, err := f.Commit(t.Context(), c, run)
		noError(t, err)

		thawed := c.Due.Add(time.Hour)
		for range 2 { // the second time changes nothing
			noError(t, f.other(t).Thaw(t.Context(), rule, scope, 0, thawed, "b", "disabled"))
		}
		f.hasFindings(t, present, absent)
		state, err := f.Scope(t.Context(), rule, scope)
		noError(t, err)
		equal(t, thawed, state.Done)
		equal(t, finding.Scope{LastDue: c.Due, LastOKDue: c.Due, Thawed: thawed, Clock: time.Minute}, state.Scope)
		runs, err := f.Runs(t.Context(), rule, nil, 1)
		noError(t, err)
		equal(t, ledger.OutcomeSkipped, runs[0].Outcome)
		equal(t, "disabled", runs[0].Error)

		again := thawed.Add(2 * time.Minute) // no run between two thaws
		noError(t, f.Thaw(t.Context(), rule, scope, 0, again, "a", "disabled"))
		f.hasFindings(t, present, absent)
		noError(t, f.Thaw(t.Context(), rule, scope, 0, thawed, "a", "disabled"))
		f.hasFindings(t, present, absent)
	}},
	{"a thaw changes no running firing and no unknown rule", func(t *testing.T, f *fixture) {
		isError(t, ledger.ErrNotFound, f.Thaw(t.Context(), rule, scope, 0, start, "a", "disabled"))
		f.register(t)
		c := f.claim(t, 5)
		noError(t, f.Thaw(t.Context(), rule, scope, 0, c.Due, "b", "disabled"))
		state, err := f.Scope(t.Context(), rule, scope)
		noError(t, err)
		equal(t, time.Time{}, state.Done)
		equal(t, time.Time{}, state.Thawed)
	}},
}

// hasSwitches checks all switches, as another node reads them.
func (f *operationChecks) hasSwitches(t testing.TB, want ...ledger.Switch) {
	t.Helper()
	got, err := f.other(t).Switches(t.Context())
	noError(t, err)
	equal(t, want, got)
}
