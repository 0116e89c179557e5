package app

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"tallyman/internal/ledger"
	"tallyman/rules"
	"tallyman/rules/scopelist"
)

// listless is a ledger that gives no lists.
type listless struct {
	ledger.Ledger
	asked int
}

func (l *listless) ScopeLists(context.Context) (map[string]scopelist.List, error) {
	l.asked++
	return nil, errors.New("away")
}

// TestListsThatAreNotRead are told with the rules, and read again.
func TestListsThatAreNotRead(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := &listless{}
		b := &ruleBook{ledger: l, log: slog.New(slog.DiscardHandler), lists: make(chan struct{}, 1), queries: make(chan struct{}, 1)}
		listed := []*rules.Rule{{ID: "low", Scopes: &rules.ScopeQuery{}, Placeholder: rules.MadeUp}}
		b.put(&rules.Set{}, listed, &expansion{set: &rules.Set{}}, nil, "1")
		ctx, stop := context.WithCancel(t.Context())
		go b.followLists(ctx)
		if err := b.listsChanged(ctx); err != nil {
			t.Fatal(err)
		}
		<-time.After(takeAgain + time.Second) // of the bubble's clock
		if _, fault := b.taken(); fault == nil || !strings.Contains(fault.Error(), "the scopes that queries list are not in force") || l.asked != 2 {
			t.Errorf("%v, asked %d times", fault, l.asked)
		}
		stop()
		synctest.Wait()
	})
}
