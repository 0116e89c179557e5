package ledgertest

import (
	"context"
	"testing"
	"time"

	"tallyman/internal/ledger"
	"tallyman/rules/scopelist"
)

const listedRule = "bin-stock"

var ofBinStock = ledger.OriginClaim{OriginKey: ledger.OriginKey{Kind: ledger.OriginScopes, Name: listedRule}, Question: "q1", Every: time.Minute, Within: time.Minute}

// withThreshold makes a scope with a threshold.
func withThreshold(name string, threshold int64) scopelist.Scope {
	return scopelist.Scope{Name: name, Timezone: "Asia/Shanghai", Params: map[string]any{"threshold": threshold, "share": 2.0}}
}

// listingScopes returns a change: a source lists these scopes of the rule listedRule.
func listingScopes(list ...scopelist.Scope) func(context.Context, ledger.Ledger, ledger.Author) error {
	return func(ctx context.Context, l ledger.Ledger, who ledger.Author) error {
		token, _, err := l.ClaimOrigin(ctx, ledger.OriginClaim{OriginKey: ofBinStock.OriginKey})
		if err != nil {
			return err
		}
		return second(l.TakeScopes(ctx, who, listedRule, token, list))
	}
}

// noScopes makes a source return an empty list, which waits for an operator.
func noScopes(ctx context.Context, l ledger.Ledger) error { return listingScopes()(ctx, l, Ann) }

// takesScopes claims the next query a minute later, and takes list as the list that the source returned.
func (f *base) takesScopes(t testing.TB, list ...scopelist.Scope) ledger.ScopeChange {
	t.Helper()
	f.clock.Add(time.Minute)
	token, claimed, err := f.ClaimOrigin(t.Context(), ofBinStock)
	noError(t, err)
	equal(t, true, claimed)
	c, err := f.TakeScopes(t.Context(), Ann, listedRule, token, list)
	noError(t, err)
	return c
}

// scopes returns the list in force, and the number "scope_lists".
func (f *base) scopes(t testing.TB) (list scopelist.List, number int64) {
	t.Helper()
	lists, err := f.ScopeLists(t.Context())
	noError(t, err)
	numbers, err := f.Numbers(t.Context())
	noError(t, err)
	return lists[listedRule], numbers["scope_lists"]
}

// scopeOrigin returns the only origin of scopes.
func (f *base) scopeOrigin(t testing.TB) ledger.ScopeOrigin {
	t.Helper()
	list, err := f.ScopeOrigins(t.Context())
	noError(t, err)
	if len(list) != 1 {
		t.Fatalf("%d origins", len(list))
	}
	return list[0]
}

var scopeTests = []testCase{
	{"scopes of a rule follow the list of a source", func(t *testing.T, f *fixture) {
		one, two, three := withThreshold("1", 5), withThreshold("2", 5), withThreshold("3", 7)
		if list, _ := f.scopes(t); list != nil {
			t.Errorf("%v before the first list", list)
		}
		equal(t, ledger.ScopeChange{Difference: scopelist.Difference{Added: scopelist.List{one, two}}}, f.takesScopes(t, one, two))
		_, before := f.scopes(t)
		equal(t, ledger.ScopeChange{}, f.takesScopes(t, one, two))
		list, same := f.scopes(t)
		equal(t, before, same)
		equal(t, scopelist.List{one, two}, list)
		stricter := withThreshold("1", 6)
		c := f.takesScopes(t, stricter, three)
		equal(t, ledger.ScopeChange{Difference: scopelist.Difference{Added: scopelist.List{three}, Changed: scopelist.List{stricter}, Removed: scopelist.List{two}}}, c)
		list, after := f.scopes(t)
		equal(t, scopelist.List{stricter, three}, list)
		equal(t, before+1, after)
		o := f.scopeOrigin(t)
		equal(t, ledger.OriginState{Name: listedRule, Asked: f.clock.Now(), Answered: f.clock.Now()}, o.OriginState)
		equal(t, 2, o.Scopes)
	}},
	{"an empty list of scopes and one that removes more than half wait until they are confirmed", func(t *testing.T, f *fixture) {
		equal(t, ledger.ScopeChange{Waits: true}, f.takesScopes(t))
		o := f.scopeOrigin(t)
		equal(t, false, o.Listed)
		equal(t, 0, o.Waits.Scopes)
		// This list replaces the waiting list.
		f.takesScopes(t, withThreshold("1", 5), withThreshold("2", 5), withThreshold("3", 5))
		_, number := f.scopes(t)
		equal(t, ledger.ScopeChange{Waits: true}, f.takesScopes(t, withThreshold("1", 6)))
		o = f.scopeOrigin(t)
		equal(t, true, o.Listed)
		equal(t, 3, o.Scopes)
		equal(t, scopelist.Difference{Changed: scopelist.List{withThreshold("1", 6)}, Removed: scopelist.List{withThreshold("2", 5), withThreshold("3", 5)}}, o.Waits.Change)
		equal(t, f.clock.Now(), o.Waits.Since)
		_, err := f.ConfirmScopes(t.Context(), Ann, listedRule, "another")
		isError(t, ledger.ErrOtherList, err)
		_, err = f.ConfirmScopes(t.Context(), Ann, "another", o.Waits.Hash)
		isError(t, ledger.ErrOtherList, err)
		_, same := f.scopes(t)
		equal(t, number, same)
		c, err := f.ConfirmScopes(t.Context(), Ann, listedRule, o.Waits.Hash)
		noError(t, err)
		equal(t, o.Waits.Change, c.Difference)
		list, after := f.scopes(t)
		equal(t, scopelist.List{withThreshold("1", 6)}, list)
		equal(t, number+1, after)
		equal(t, (*ledger.WaitingScopes)(nil), f.scopeOrigin(t).Waits)
		noError(t, f.ForgetScopes(t.Context(), Ann, listedRule))
		isError(t, ledger.ErrNotFound, f.ForgetScopes(t.Context(), Ann, listedRule))
		list, after = f.scopes(t)
		equal(t, number+2, after)
		equal(t, scopelist.List(nil), list)
	}},
	{"a query for scopes that fails or is late keeps the last list", func(t *testing.T, f *fixture) {
		f.takesScopes(t, withThreshold("1", 5))
		f.clock.Add(time.Minute)
		token, _, err := f.ClaimOrigin(t.Context(), ofBinStock)
		noError(t, err)
		noError(t, f.FailOrigin(t.Context(), ofBinStock.OriginKey, token, "row 1"))
		o := f.scopeOrigin(t)
		equal(t, "row 1", o.Error)
		equal(t, f.clock.Now(), o.FailedSince)
		f.takesScopes(t, withThreshold("1", 5))
		equal(t, "", f.scopeOrigin(t).Error)
		_, err = f.TakeScopes(t.Context(), Ann, listedRule, token, nil)
		isError(t, ledger.ErrFenced, err)
		list, _ := f.scopes(t)
		equal(t, scopelist.List{withThreshold("1", 5)}, list)
	}},
}
