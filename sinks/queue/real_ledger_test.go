package queue

import (
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tallyman/internal/item"
	"tallyman/internal/ledger"
	"tallyman/internal/ledger/postgres"
	"tallyman/internal/ledger/sqlite"
	"tallyman/internal/testenv"
)

// onBothLedgers runs a test with the ledgers that there are.
func onBothLedgers(t *testing.T, test func(t *testing.T, l ledger.Ledger)) {
	t.Helper()
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		path := filepath.Join(t.TempDir(), "ledger.db")
		if _, err := sqlite.Migrate(t.Context(), path); err != nil {
			t.Fatal(err)
		}
		l, err := sqlite.Open(t.Context(), path, ledger.Options{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = l.Close() })
		test(t, l)
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		test(t, postgresLedger(t))
	})
}

func postgresLedger(t testing.TB) ledger.Ledger {
	t.Helper()
	url := testenv.Postgres(t)
	if _, err := postgres.Migrate(t.Context(), url); err != nil {
		t.Fatal(err)
	}
	l, err := postgres.Open(t.Context(), url, ledger.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l
}

func TestRealLedgersBringQueuesBack(t *testing.T) {
	t.Parallel()
	onBothLedgers(t, func(t *testing.T, l ledger.Ledger) {
		t.Helper()
		r := testenv.Redis(t)
		n := newNode(t, r.Addr, l, daily, twoTries)
		early := fill(t, n)
		kept := n.mustLease(t, "w", 1)[0]
		n.mustDo(t, item.Op{Kind: item.Ack, ID: kept.ID, Attempt: kept.Attempt}, item.OK)
		k := n.lines[0].keys
		if err := n.client.RPush(t.Context(), k.outbox(), "no entry").Err(); err != nil { // it holds up nothing
			t.Fatal(err)
		}
		if err := n.client.HIncrBy(t.Context(), k.meta(), "out", 1).Err(); err != nil {
			t.Fatal(err)
		}
		inLedger(t, n)
		r.Restart()
		sizes, err := n.Sizes(t.Context(), false, nil)
		if err != nil || sizes.Delayed != 1 || sizes.Suspended != 1 || sizes.Stored != 1 || sizes.Dead != 1 || sizes.Leased != 0 || sizes.Assigned != 1 {
			t.Errorf("%+v, %v", sizes, err)
		}
		n.mustDo(t, item.Op{Kind: item.Ack, ID: early[1].ID, Attempt: early[1].Attempt}, item.LeaseLost)
		want := []string{"early2", "early3", "late4", "late5", "late6", "late7", "late8"}
		if diff := cmp.Diff(want, n.order(t)); diff != "" {
			t.Errorf("-want +got\n%s", diff)
		}
		for key, outcome := range map[string]item.PushOutcome{"kept": item.Duplicate, "done": item.Duplicate, "free": item.Pushed} {
			got, err := n.Push(t.Context(), false, "tester", []item.New{{ID: "again-" + key, Payload: []byte("1"), DedupeKey: key}})
			if err != nil || got[0].Outcome != outcome {
				t.Errorf("key %s: %+v, %v", key, got, err)
			}
		}
		if got := idsOf(n.mustStep(t, item.Step{Test: true, Caller: item.Caller{Worker: "w"}, Max: 10}).Items); !slices.Equal(got, []string{"twin1", "twin2"}) {
			t.Errorf("the twin gave out %v", got)
		}
		inLedger(t, n)
		got, err := n.Get(t.Context(), false, nil, "early2")
		if err != nil || len(got.Trace) != 4 || got.Trace[2].Note != restoreNote || got.Trace[2].Node != n.o.Node {
			t.Errorf("%+v, %v", got.Trace, err)
		}
		if got, err := n.Get(t.Context(), false, nil, "again-done"); err != nil || got.Item.State != item.Refused {
			t.Errorf("%+v, %v", got, err)
		}
	})
}

func TestRealLedgersFinishAPushThatDied(t *testing.T) {
	t.Parallel()
	onBothLedgers(t, func(t *testing.T, l ledger.Ledger) {
		t.Helper()
		n := newNodeThat(t, atOnce, testenv.Redis(t).Addr, l)
		recordOnly(t, n.lines[0], newItems(1, 3, "i")...)
		testenv.Eventually(t, func() bool { return len(n.mustLease(t, "w", 1)) == 1 }, 20*time.Second)
	})
}

func TestRealLedgersRebuildManyQuickly(t *testing.T) {
	t.Parallel()
	onBothLedgers(t, func(t *testing.T, l ledger.Ledger) {
		t.Helper()
		const many = rebuilt / 5
		record(t, l, many)
		began := time.Now()
		n := newNode(t, testenv.Redis(t).Addr, l)
		t.Logf("%d items came back in %s", many, time.Since(began))
		sizes, err := n.Sizes(t.Context(), false, nil)
		if err != nil || sizes.Ready != many {
			t.Errorf("%+v, %v", sizes, err)
		}
	})
}
