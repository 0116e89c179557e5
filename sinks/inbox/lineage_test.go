package inbox

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"tallyman/internal/delivery"
	"tallyman/internal/testenv"
	"tallyman/sinks/inbox/page"
	"tallyman/sinks/recovery"
)

// reconnects is a lineage whose marks are always known: only what Redis remembers of deliveries tells.
type reconnects struct {
	count atomic.Int64
	told  atomic.Pointer[recovery.Restore]
}

func (*reconnects) Mark() string { return "1-a" }

func (*reconnects) HasMark(context.Context, string) (bool, error) { return true, nil }

func (r *reconnects) Incarnation() int64 { return r.count.Load() }

func (r *reconnects) option(o *Options) {
	o.Lineage = r
	o.OnRestore = func(_ context.Context, restore recovery.Restore) error {
		r.told.Store(&restore)
		return nil
	}
}

func (l *memoryLedger) backup() map[int64]delivery.ScoredDelivery {
	l.mu.Lock()
	defer l.mu.Unlock()
	return maps.Clone(l.delivered)
}

func (l *memoryLedger) restore(from map[int64]delivery.ScoredDelivery) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.delivered = maps.Clone(from)
}

func TestInboxOfALedgerThatWasRestored(t *testing.T) {
	t.Parallel()
	for name, late := range map[string]func() []delivery.Delivery{
		"a warehouse of before":                     func() []delivery.Delivery { return makeDeliveries(2, wh, "user:1") },
		"a warehouse that the backup does not have": func() []delivery.Delivery { return makeDeliveries(1, "new", "user:1") },
		"a wide notice": func() []delivery.Delivery {
			to := []string{"user:1"}
			for i := range maxInboxes {
				to = append(to, fmt.Sprintf("user:x%d", i))
			}
			return makeDeliveries(1, wh, to...)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			onAll(t, func(t site) {
				ledger, lineage := newMemoryLedger(), &reconnects{}
				n := newNode(t, t.addr, ledger, lineage.option)
				early := makeDeliveries(3, wh, "user:1")
				n.deliver(t, early)
				backup := ledger.backup()
				lost := late()
				n.deliver(t, lost)
				before := n.poll(t, query("user:1"))
				g, _ := n.keeper.Current()

				ledger.restore(backup)
				lineage.count.Add(1)
				testenv.Eventually(t, func() bool { return !n.keeper.Is(g) }, 20*time.Second)
				pg := n.poll(t, after(query("user:1"), before.Cursor))
				if !pg.Reset || !slices.Equal(ids(pg), idsOf(early)) {
					t.Errorf("reset %v, notices %v, want %v", pg.Reset, ids(pg), idsOf(early))
				}
				elsewhere := page.Query{Warehouse: lost[0].Notice.Warehouse, Subscribers: []string{"user:1"}}
				if pg := n.poll(t, elsewhere); slices.Contains(ids(pg), lost[0].Notice.ID) {
					t.Error("a notice that the ledger does not have is shown")
				}
				if r := lineage.told.Load(); r == nil || !strings.Contains(r.Cause, lost[len(lost)-1].Notice.ID) {
					t.Errorf("told of %+v", r)
				}
			})
		})
	}
}

// The restored ledger has gone on, and has given the same number to another notice, before the node compares.
func TestNumbersThatARestoredLedgerGivesAgain(t *testing.T) {
	t.Parallel()
	ledger, lineage := newMemoryLedger(), &reconnects{}
	n := newNode(t, onMiniredis(t), ledger, lineage.option)
	n.deliver(t, makeDeliveries(1, wh, "user:1"))
	backup := ledger.backup()
	late := makeDeliveries(1, wh, "user:1")
	n.deliver(t, late)
	g, _ := n.keeper.Current()

	ledger.restore(backup)
	lineage.count.Add(1)
	other := makeDeliveries(1, wh, "user:1")
	other[0].Seq = late[0].Seq
	if receipts := n.deliverAgain(t, other); receipts[0].Epoch == g.Epoch {
		t.Error("a notice of the restored ledger went into the inbox of before")
	}
	if got := ids(n.poll(t, query("user:1"))); slices.Contains(got, late[0].Notice.ID) || !slices.Contains(got, other[0].Notice.ID) {
		t.Errorf("the inbox shows %v", got)
	}
}

// deliverAgain is deliver for a batch that may be refused because its epoch has ended in between.
func (n *node) deliverAgain(t testing.TB, batch []delivery.Delivery) []delivery.Receipt {
	t.Helper()
	receipts, err := n.Deliver(t.Context(), batch[0].Notice.Warehouse, batch)
	if err != nil {
		t.Fatal(err)
	}
	return receipts
}

// Expired notices may be removed from the ledger, and a failover without a loss ends no epoch.
func TestInboxOfALedgerThatHasEverything(t *testing.T) {
	t.Parallel()
	ledger, lineage := newMemoryLedger(), &reconnects{}
	n := newNode(t, onMiniredis(t), ledger, lineage.option)
	n.deliver(t, makeDeliveries(2, wh, "user:1"))
	expired := makeDeliveries(1, "other", "user:1")
	expired[0].Notice.ExpiresAt = time.Now().Add(50 * time.Millisecond)
	n.deliver(t, expired)
	<-time.After(time.Until(expired[0].Notice.ExpiresAt))
	kept := ledger.backup()
	delete(kept, expired[0].Seq)
	ledger.restore(kept)
	g, _ := n.keeper.Current()
	lineage.count.Add(1)
	n.deliver(t, makeDeliveries(1, wh, "user:1")) // waits for the comparison
	if !n.keeper.Is(g) || lineage.told.Load() != nil {
		t.Errorf("an epoch ended: %+v", lineage.told.Load())
	}
}

func TestOriginsAreRead(t *testing.T) {
	t.Parallel()
	d := makeDeliveries(1, wh, "user:1")[0]
	e := entry{id: d.Notice.ID, created: d.Notice.CreatedAt.UnixMicro(), expires: d.Notice.ExpiresAt.UnixMicro(), seq: d.Seq}
	o, expires, err := parseOrigin(e.origin())
	if err != nil || o.seq != d.Seq || o.notice != d.Notice.ID || o.created != d.Notice.CreatedAt.UnixMicro() || expires != d.Notice.ExpiresAt.UnixMicro() {
		t.Errorf("the origin is %+v, %d, %v", o, expires, err)
	}
	for _, text := range []string{"", "1 2 3", "1 2 3 n 4", "x 2 3 n", "1 x 3 n", "1 2 x n"} {
		if _, _, err := parseOrigin(text); err == nil {
			t.Errorf("%q is an origin", text)
		}
	}
}
