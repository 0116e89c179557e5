package ledgertest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tallyman/internal/delivery"
	"tallyman/internal/item"
	"tallyman/internal/ledger"
	"tallyman/internal/notice"
	"tallyman/rules/catalog"
)

// told sends all events to the push channel.
var told = &item.Events{
	Sink: gateway, Strategy: delivery.Strategy{Kind: delivery.Important, Until: delivery.UntilSent},
	On: []item.Event{item.EventReadyAgain, item.EventAssigned, item.EventDead, item.EventDone, item.EventRemoved},
}

// telling makes an entry of moves whose events go to the push channel.
func telling(position int64, moves ...item.Move) item.Moves {
	return item.Moves{Position: position, List: moves, Events: told}
}

// eventsOf returns the events of claims, as "i_1 dead".
func eventsOf(c delivery.Claims) []string {
	out := []string{}
	for i := range c.List {
		e := item.ReadTold(c.List[i].Notice.Data)
		out = append(out, e.ID+" "+string(e.Event))
	}
	return out
}

// step makes the next move of an item.
func step(r *item.Record, to item.State) item.Move { return move(r, r.Moves+1, to) }

var itemEventTests = []testCase{
	{"an event is a notice, with the item as it is", func(t *testing.T, f *fixture) {
		f.begin(t, "", "e1")
		r := newItem("i_1")
		r.Warehouse = "119240"
		items := f.push(t, r)
		at := start.Add(2 * time.Second)
		m := item.Move{
			Seq: items[0].Seq, N: 2, At: at, From: item.Suspended, To: item.Ready, Attempt: 3, Failures: 1, Suspends: 2, By: "w-1", Node: "a", Note: "because",
		}
		f.clock.Add(time.Hour)
		noError(t, f.ApplyMoves(t.Context(), queue, "e1", []item.Moves{telling(1, m)}))
		claims := f.claimPushes(t, "a", 10)
		equal(t, 1, len(claims.List))
		got := claims.List[0]
		equal(t, told.Strategy, got.Strategy)
		typ := catalog.BuiltIn()[catalog.ItemEvent]
		want := &notice.Notice{
			ID: got.Notice.ID, Type: typ.Code, TypeID: typ.ID, Warehouse: "119240", Key: `["replenishment","i_1"]`,
			Episode: fmt.Sprintf(`["replenishment","i_1",2,%d]`, at.UnixMicro()), Status: notice.Sent, Priority: 4, Order: "7.25", Modal: "silent", Count: 1,
			Title: "Item i_1 of replenishment is ready again", Body: "because",
			Texts: map[string]notice.Text{"zh": {Title: "replenishment 的工作项 i_1 重新就绪", Body: "because"}},
			Data: []notice.Field{
				{Name: "assignee"},
				{Name: "at", Value: "2026-06-01T08:00:02Z"},
				{Name: "attempt", Value: int64(3)},
				{Name: "by", Value: "w-1"},
				{Name: "event", Value: "ready_again"},
				{Name: "failures", Value: int64(1)},
				{Name: "item", Value: "i_1"},
				{Name: "move", Value: int64(2)},
				{Name: "note", Value: "because"},
				{Name: "payload", Value: `{"bin": "A-01"}`},
				{Name: "queue", Value: queue},
				{Name: "suspends", Value: int64(2)},
			},
			CreatedAt: start.Add(time.Hour), ExpiresAt: start.Add(time.Hour + typ.Retention),
		}
		equal(t, want, got.Notice)
		names := make([]string, len(want.Data))
		for i := range want.Data {
			names[i] = want.Data[i].Name
		}
		equal(t, typ.FieldNames(), names)
		counts, err := f.CountNotices(t.Context(), start, start.Add(2*time.Hour), time.Hour)
		noError(t, err)
		equal(t, 0, len(counts))
	}},
	{"each move makes the event that it means, if the queue sends that event", func(t *testing.T, f *fixture) {
		f.begin(t, "", "e1")
		items := f.pushed(t, "i_1", "i_2")
		a, b := &items[0], &items[1]
		back := func(r *item.Record) item.Move { // the item goes back to its place among the items of its priority
			m := step(r, item.Ready)
			m.Assignee = ""
			r.Assignee = ""
			return m
		}
		fail := func(r *item.Record) item.Move {
			m := back(r)
			m.Failures++
			r.Failures++
			return m
		}
		entries := []item.Moves{
			telling(1, step(a, item.Leased), back(a), step(a, item.Leased), fail(a)),              // released, then nacked
			telling(2, step(b, item.Leased), step(b, item.Delayed), back(b), step(b, item.Ready)), // nacked with a delay, and assigned to w-9
			telling(3, step(b, item.Leased), step(b, item.Ready), step(b, item.Leased), step(b, item.Done)),
			telling(4, step(a, item.Leased), step(a, item.Suspended), back(a), step(a, item.Dead), step(a, item.Removed)),
		}
		want := []string{"i_1 ready_again", "i_2 ready_again", "i_2 assigned", "i_2 done", "i_1 ready_again", "i_1 dead", "i_1 removed"}
		only := &item.Events{Sink: "other", Strategy: told.Strategy, On: []item.Event{item.EventDone}}
		for i, e := range entries {
			if i == 2 {
				e.Events = only
			}
			noError(t, f.ApplyMoves(t.Context(), queue, "e1", []item.Moves{e}))
		}
		got := append(f.sendsEvents(t, gateway), f.sendsEvents(t, "other")...)
		slices.Sort(want)
		slices.Sort(got)
		equal(t, want, got)
	}},
	{"an item that is assigned has its other events, too", func(t *testing.T, f *fixture) {
		f.begin(t, "", "e1")
		items := f.pushed(t, "i_1")
		f.apply(t, 1, step(&items[0], item.Ready), step(&items[0], item.Suspended)) // for w-9
		only := &item.Events{Sink: gateway, On: []item.Event{item.EventReadyAgain}, Strategy: told.Strategy}
		noError(t, f.ApplyMoves(t.Context(), queue, "e1", []item.Moves{{Position: 2, List: []item.Move{step(&items[0], item.Ready)}, Events: only}}))
		equal(t, []string{"i_1 ready_again"}, f.sendsEvents(t, gateway))
	}},
	{"events of an item go in order, those of others do not wait", func(t *testing.T, f *fixture) {
		f.begin(t, "", "e1")
		items := f.pushed(t, "i_1", "i_2")
		noError(t, f.ApplyMoves(t.Context(), queue, "e1", []item.Moves{
			telling(1, step(&items[0], item.Dead), step(&items[0], item.Ready)), telling(2, step(&items[1], item.Dead)),
		}))
		noError(t, f.ApplyMoves(t.Context(), queue, "e1", []item.Moves{telling(3, step(&items[0], item.Done))}))
		first := f.claimPushes(t, "a", 10)
		equal(t, []string{"i_1 dead", "i_2 dead"}, eventsOf(first))
		f.settle(t, first.List[1:], delivery.SettleSent, 0)
		f.settle(t, first.List[:1], delivery.SettleAgain, time.Minute)
		equal(t, []string{}, eventsOf(f.claimPushes(t, "a", 10)))
		f.clock.Add(time.Minute)
		equal(t, []string{"i_1 dead", "i_1 assigned", "i_1 done"}, f.sendsEvents(t, gateway))
	}},
	{"an event comes once, even if its move is applied again", func(t *testing.T, f *fixture) {
		f.begin(t, "", "e1")
		items := f.pushed(t, "i_1")
		one := telling(1, step(&items[0], item.Dead))
		two := telling(2, step(&items[0], item.Removed))
		for _, entries := range [][]item.Moves{{one}, {one, two}, {two}, {one}} {
			noError(t, f.ApplyMoves(t.Context(), queue, "e1", entries))
		}
		f.hasGateway(t, map[ledger.DeliveryState]int64{ledger.DeliveryPending: 2})
	}},
	{"fenced moves, and moves that change nothing, are no events", func(t *testing.T, f *fixture) {
		items := f.pushed(t, "i_1", "i_2")
		f.begin(t, "", "e1")
		f.begin(t, "e1", "e2")
		isError(t, ledger.ErrFenced, f.ApplyMoves(t.Context(), queue, "e1", []item.Moves{telling(1, step(&items[0], item.Dead))}))
		late := step(&items[1], item.Dead)
		f.finishIn(t, "e2", 1, step(&items[1], item.Done))
		noError(t, f.ApplyMoves(t.Context(), queue, "e2", []item.Moves{telling(2, late)}))
		noError(t, f.ApplyMoves(t.Context(), queue, "e2", []item.Moves{telling(3, item.Move{Seq: 1 << 40, N: 1, From: item.Ready, To: item.Done})}))
		equal(t, 0, len(f.claimAll(t, gateway).List))
	}},
	{"an item that begins another life has events again", func(t *testing.T, f *fixture) {
		f.begin(t, "", "e1")
		r := f.pushed(t, "i_1")[0]
		noError(t, f.ApplyMoves(t.Context(), queue, "e1", []item.Moves{telling(1, step(&r, item.Done))}))
		again := newItem("i_1")
		again.Again = true
		known, err := f.PushItems(t.Context(), queue, []item.Record{again})
		noError(t, err)
		again.Seq, again.Moves = known[0].Seq, known[0].Moves
		noError(t, f.ApplyMoves(t.Context(), queue, "e1", []item.Moves{telling(2, step(&again, item.Ready), step(&again, item.Dead))}))
		equal(t, []string{"i_1 done", "i_1 assigned", "i_1 dead"}, f.sendsEvents(t, gateway))
	}},
	{"an event has the item as it was revised", func(t *testing.T, f *fixture) {
		f.begin(t, "", "e1")
		items := f.pushed(t, "i_1", "source")
		revised := step(&items[0], item.Stored)
		revised.Revision = &item.Revision{Priority: 1, Source: items[1].Seq}
		noError(t, f.ApplyMoves(t.Context(), queue, "e1", []item.Moves{telling(1, revised, step(&items[0], item.Removed))}))
		claims := f.claimPushes(t, "a", 10)
		equal(t, 1, len(claims.List))
		got := claims.List[0].Notice
		equal(t, []string{"1", ""}, []string{strconv.Itoa(got.Priority), got.Order})
	}},
	{"nobody is told of a queue without events", func(t *testing.T, f *fixture) {
		f.begin(t, "", "e1")
		items := f.pushed(t, "i_1")
		f.apply(t, 1, step(&items[0], item.Dead), step(&items[0], item.Removed))
		counts, err := f.CountDeliveries(t.Context())
		noError(t, err)
		equal(t, 0, len(counts))
	}},
	{"nodes that drain and deliver at once send each event once and in order", func(t *testing.T, f *fixture) {
		const items, rounds = 3, 15
		f.begin(t, "", "e1")
		var ids []string
		for i := range items {
			ids = append(ids, fmt.Sprintf("i_%d", i))
		}
		records := f.pushed(t, ids...)
		var entries []item.Moves
		want := map[string][]string{}
		for n := range rounds {
			var moves []item.Move
			for i := range records {
				m := step(&records[i], []item.State{item.Dead, item.Ready}[n%2])
				m.Assignee = ""
				want[ids[i]] = append(want[ids[i]], fmt.Sprint(m.N))
				moves = append(moves, m)
			}
			entries = append(entries, telling(int64(n+1), moves...))
		}
		var mu sync.Mutex
		got := map[string][]string{}
		f.onNodes(t, func(ctx context.Context, l ledger.Ledger, node string) error {
			ctx, cancel := context.WithTimeout(ctx, searchTimeout)
			defer cancel()
			for n := range rounds {
				if err := l.ApplyMoves(ctx, queue, "e1", entries[max(0, n-2):n+1]); err != nil {
					return err
				}
				claims, err := l.ClaimPushes(ctx, gateway, node, lease, 2)
				if err != nil {
					return err
				}
				mu.Lock()
				for i := range claims.List {
					e := item.ReadTold(claims.List[i].Notice.Data)
					got[e.ID] = append(got[e.ID], fmt.Sprint(e.N))
				}
				mu.Unlock()
				kind := delivery.SettleSent
				if n%5 == 4 {
					kind = delivery.SettleFailed
				}
				if err := l.SettlePushes(ctx, settled(claims.List, kind, 0)); err != nil {
					return err
				}
			}
			return nil
		})
		for range items * rounds {
			claims := f.claimPushes(t, "z", 10)
			for i := range claims.List {
				e := item.ReadTold(claims.List[i].Notice.Data)
				got[e.ID] = append(got[e.ID], fmt.Sprint(e.N))
			}
			f.settle(t, claims.List, delivery.SettleSent, 0)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	}},
	{"whatever nodes and operators do with events at once, everything ends", func(t *testing.T, f *fixture) {
		const items, rounds = 3, 20
		f.begin(t, "", "e1")
		records := f.pushed(t, "i_0", "i_1", "i_2")
		f.onNodes(t, func(ctx context.Context, l ledger.Ledger, node string) error {
			if node == "node0" {
				for n := range rounds {
					var moves []item.Move
					for i := range records {
						moves = append(moves, step(&records[i], []item.State{item.Dead, item.Ready}[n%2]))
					}
					if err := l.ApplyMoves(ctx, queue, "e1", []item.Moves{telling(int64(n+1), moves...)}); err != nil {
						return err
					}
				}
				return nil
			}
			random := rand.New(rand.NewPCG(uint64(len(node)), uint64(node[len(node)-1]))) //nolint:gosec // not a secret
			for range 40 {
				if err := disturb(ctx, l, node, random, items*rounds); err != nil {
					return err
				}
			}
			return nil
		})
		f.clock.Add(lease)
		f.sendsEvents(t, gateway)
		counts, err := f.CountDeliveries(t.Context())
		noError(t, err)
		equal(t, int64(0), counts[gateway][ledger.DeliveryPending])
	}},
	{"a retry of events by an operator puts them in their old places while more come", func(t *testing.T, f *fixture) {
		f.begin(t, "", "e1")
		items := f.pushed(t, "i_1")
		noError(t, f.ApplyMoves(t.Context(), queue, "e1", []item.Moves{telling(1, step(&items[0], item.Dead))}))
		first := f.claimPushes(t, "a", 1)
		f.settle(t, first.List, delivery.SettleFailed, 0)
		ready := step(&items[0], item.Ready)
		noError(t, f.ApplyMoves(t.Context(), queue, "e1", []item.Moves{telling(2, ready), telling(3, step(&items[0], item.Done))}))
		f.retries(t, first.List[0].Seq)
		equal(t, []string{"i_1 dead", "i_1 assigned", "i_1 done"}, f.sendsEvents(t, gateway))
	}},
}

// sendsEvents sends all due deliveries of the channel, and returns their events in order.
func (f *pushChecks) sendsEvents(t testing.TB, sink string) []string {
	t.Helper()
	var out []string
	for claims := f.claimAll(t, sink); len(claims.List) > 0; claims = f.claimAll(t, sink) {
		out = append(out, eventsOf(claims)...)
		f.settle(t, claims.List, delivery.SettleSent, 0)
	}
	return out
}

// finishIn applies a move without events in the epoch.
func (f *itemChecks) finishIn(t testing.TB, epoch string, position int64, m item.Move) {
	t.Helper()
	noError(t, f.ApplyMoves(t.Context(), queue, epoch, []item.Moves{{Position: position, List: []item.Move{m}}}))
}
