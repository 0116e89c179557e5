package queue

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"tallyman/internal/item"
	"tallyman/internal/testenv"
)

// mostOfScript is the most that one call of a script may cost, whatever workers, producers and operators ask for.
// docs/reference/redis-keys.md names these bounds. In a queue of 500 warehouses, a script has to change some keys of each.
var mostOfScript = testenv.ScriptCost{Keys: 100, Sent: 3 << 20, Answered: 6 << 20, Commands: 6000, Inside: 6 << 20}

const mostOfManyWarehouses = 12_000 // commands

// names are those of the scripts by their hashes.
func (q *Queue) names() map[string]string {
	s, r, l := newScripts(), newReadScripts(), newLifeScripts()
	return map[string]string{
		s.enqueue.Hash(): "enqueue", s.step.Hash(): "step", s.repair.Hash(): "repair",
		r.sizes.Hash(): "sizes", r.list.Hash(): "list", r.ranks.Hash(): "range", r.get.Hash(): "get",
		r.values.Hash(): "values", r.rank.Hash(): "rank", r.pause.Hash(): "pause",
		l.begin.Hash(): "begin", l.hold.Hash(): "hold", l.tell.Hash(): "tell", l.absent.Hash(): "absent", l.drain.Hash(): "drain",
	}
}

// Small items, the largest whose payloads stand in their values, and the largest of all, of one warehouse and of many:
// pushed, listed, leased, given back, put off, finished, lost and written back, a thousand at once.
func TestScriptsAreBounded(t *testing.T) {
	t.Parallel()
	for name, of := range map[string]struct{ size, warehouses int }{
		"small items": {10, 1}, "items whose payloads do not lie apart": {largePayload - 1, 1}, "large items": {item.MaxPayload, 1},
		"small items of many warehouses": {10, 500}, "large items of many warehouses": {item.MaxPayload, 500},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := testenv.Redis(t)
			clock, ledger := newTestClock(morning), newMemoryLedger()
			quiet := func(q *Queue, ctx context.Context) { q.keeper.Run(ctx) } // the rest is called here
			n := newNodeThat(t, quiet, server.Addr, ledger, clock.option, func(o *Options) { o.MaxAttempts = 100 })
			most := mostOfScript
			if of.warehouses > 1 {
				most.Commands = mostOfManyWarehouses
			}
			watch := testenv.WatchScripts(t, n.client, server.Client(t), most, n.names())
			t.Cleanup(watch.Log)

			all := item.MaxBatch / testenv.RaceCut
			payload := []byte(`"` + strings.Repeat("x", of.size-2) + `"`)
			items := make([]item.New, all)
			for i := range items {
				items[i] = item.New{
					ID: fmt.Sprintf("i%04d", i), Warehouse: fmt.Sprintf("W%03d", i%of.warehouses), Priority: 1 + i%5, Payload: payload,
					DedupeKey: fmt.Sprintf("key %d", i),
				}
			}
			n.mustPush(t, items...)
			n.list(t, item.Ready, item.MaxBatch)
			lease := func() []item.Lease {
				t.Helper()
				var got []item.Lease
				for len(got) < all {
					some := n.mustLease(t, "w", all)
					if len(some) == 0 {
						t.Fatalf("%d of %d items are leased, and no more come", len(got), all)
					}
					got = append(got, some...)
				}
				return got
			}
			act := func(kind item.OpKind, leases []item.Lease, change func(*item.Op)) {
				t.Helper()
				for part := range slices.Chunk(leases, all) {
					ops := make([]item.Op, len(part))
					for i, l := range part {
						ops[i] = item.Op{Kind: kind, ID: l.ID, Attempt: l.Attempt}
						if change != nil {
							change(&ops[i])
						}
					}
					for i, r := range n.mustStep(t, item.Step{Caller: item.Caller{Worker: "w"}, Ops: ops}).Results {
						if r.Outcome != item.OK {
							t.Fatalf("%s of %s: %s", kind, ops[i].ID, r.Outcome)
						}
					}
				}
			}
			act(item.Release, lease(), func(op *item.Op) { op.Note = strings.Repeat("n", 200) })
			act(item.Suspend, lease(), nil)
			clock.advance(24 * time.Hour)
			act(item.Nack, lease(), func(op *item.Op) { op.Delay = time.Hour })
			n.list(t, item.Delayed, item.MaxBatch)
			clock.advance(2 * time.Hour)
			lease()
			clock.advance(time.Hour) // the leases end
			if got := lease(); len(got) < all {
				t.Errorf("%d of %d came back", len(got), all)
			}
			if err := n.client.Del(t.Context(), n.lines[0].keys.epoch()).Err(); err != nil {
				t.Fatal(err)
			}
			n.keeper.CheckNow()
			testenv.Eventually(t, func() bool { return ledger.epochs() > 1 && n.Ready() == nil }, time.Minute)
			act(item.Ack, lease(), nil)
			if ids, _ := n.list(t, item.Ready, 10); len(slices.Compact(ids)) > 0 {
				t.Errorf("%v are left", ids)
			}
		})
	}
}
