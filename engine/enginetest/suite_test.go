package enginetest_test

import (
	"cmp"
	"context"
	"path/filepath"
	"slices"
	"testing"

	"tallyman/engine/enginetest"
	"tallyman/internal/delivery"
	"tallyman/internal/ledger"
	"tallyman/internal/ledger/ledgertest"
	"tallyman/internal/ledger/sqlite"
	"tallyman/rules/catalog"
)

// wholeLedger is the ledger in memory as the suite takes one. What the memory does not have, the suite of the engine
// does not ask; an empty ledger of SQLite would answer.
type wholeLedger struct {
	*enginetest.Ledger
	rest
}

// rest lies one level deeper than the stores of the ledger in memory, so that these come first.
type rest struct{ file }

type file struct{ *sqlite.Ledger }

func TestTheLedgerInMemoryPassesTheSuite(t *testing.T) {
	t.Parallel()
	ledgertest.RunEngine(t, func(testing.TB) ledgertest.Database {
		return ledgertest.Database{
			OneNode: true,
			Open: func(t testing.TB, opts ledger.Options) ledger.Ledger {
				t.Helper()
				path := filepath.Join(t.TempDir(), "ledger.db")
				if _, err := sqlite.Migrate(t.Context(), path); err != nil {
					t.Fatal(err)
				}
				onDisk, err := sqlite.Open(t.Context(), path, opts)
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { _ = onDisk.Close() })
				memory := enginetest.NewLedger()
				memory.TimeNow, memory.Subscribers = opts.Now, nil
				return wholeLedger{memory, rest{file{onDisk}}}
			},
		}
	})
}

// PutType implements ledger.Catalogue.
func (l wholeLedger) PutType(_ context.Context, _ ledger.Author, t catalog.Type) error {
	l.SetTypes(t)
	return nil
}

// AddSubscriptions implements ledger.Catalogue: all subscribe to everything.
func (l wholeLedger) AddSubscriptions(_ context.Context, _ ledger.Author, subs []ledger.Subscription) (int, error) {
	for _, s := range subs {
		l.Ledger.Subscribers = append(l.Ledger.Subscribers, s.Subscriber)
	}
	return len(subs), nil
}

// Runs implements ledger.Runs.
func (l wholeLedger) Runs(_ context.Context, rule string, scope *string, limit int) ([]ledger.Run, error) {
	list := slices.DeleteFunc(l.Ledger.Runs(), func(r ledger.Run) bool { return r.Rule != rule || scope != nil && r.Scope != *scope })
	slices.SortStableFunc(list, func(a, b ledger.Run) int { return cmp.Or(b.Due.Compare(a.Due), cmp.Compare(a.Scope, b.Scope)) })
	return list[:min(limit, len(list))], nil
}

// Subscribers implements delivery.Addresses, and is not the field of that name.
func (l wholeLedger) Subscribers(ctx context.Context, ids []string) (map[string]delivery.Subscriber, error) {
	return l.rest.Subscribers(ctx, ids)
}
