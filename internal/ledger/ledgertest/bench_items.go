package ledgertest

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"tallyman/internal/delivery"
	"tallyman/internal/item"
	"tallyman/internal/ledger"
	"tallyman/internal/notice"
)

// ItemLoad is the number of queues in use at the same time, and the number of items in one call.
type ItemLoad struct{ Queues, Batch int }

// ItemLoads returns the loads that the benchmarks of items measure.
func ItemLoads() []ItemLoad { return []ItemLoad{{1, 1}, {1, 100}, {1, 1000}, {8, 100}} }

func (l ItemLoad) String() string { return fmt.Sprintf("queues=%d/batch=%d", l.Queues, l.Batch) }

// BareItems writes the rows of a batch without a ledger: the rows of its push in one transaction, the rows of its
// moves in another.
type BareItems func(b *testing.B, worker int, items []item.Record, moves item.Moves)

// BenchmarkItems pushes batches, and then records that the items were leased and done, by the ledger and by bare in
// turn. BenchmarkItems reports items per second for both, and their ratio.
func BenchmarkItems(b *testing.B, l ledger.Ledger, bare BareItems, load ItemLoad) {
	b.Helper()
	workers := make([]*itemWorker, load.Queues)
	for i := range workers {
		workers[i] = &itemWorker{Ledger: l, number: i, queue: fmt.Sprintf("queue%d", i), batch: load.Batch}
		noError(b, l.BeginEpoch(b.Context(), workers[i].queue, "", ledger.IndexState{Epoch: "e1"}, "a", 0))
	}
	all := func(do func(w *itemWorker)) time.Duration {
		return timed(func() {
			var wg sync.WaitGroup
			for _, w := range workers {
				wg.Go(func() { do(w) })
			}
			wg.Wait()
		})
	}
	rounds := max(1, 1000/load.Batch)
	var ours, theirs time.Duration
	n := 0
	for b.Loop() {
		n += rounds * load.Batch * load.Queues
		ours += all(func(w *itemWorker) {
			for range rounds {
				w.work(b)
			}
		})
		theirs += all(func(w *itemWorker) {
			for range rounds {
				items, moves := w.next()
				bare(b, w.number, items, moves)
			}
		})
	}
	b.ReportMetric(float64(n)/ours.Seconds(), "items/s")
	b.ReportMetric(float64(n)/theirs.Seconds(), "bare-items/s")
	b.ReportMetric(theirs.Seconds()/ours.Seconds(), "ratio")
	b.ReportMetric(0, "ns/op")
}

// itemWorker works on one queue.
type itemWorker struct {
	ledger.Ledger
	number   int
	queue    string
	batch    int
	made     int64
	position int64
}

// work pushes a batch, and records that its items were leased and done.
func (w *itemWorker) work(b *testing.B) {
	items, moves := w.next()
	known, err := w.PushItems(b.Context(), w.queue, items)
	if err != nil {
		b.Error(err)
		return
	}
	for i := range moves.List {
		moves.List[i].Seq = known[i/2].Seq
	}
	if err := w.ApplyMoves(b.Context(), w.queue, "e1", []item.Moves{moves}); err != nil {
		b.Error(err)
	}
}

// next makes a batch of items, with payloads of 300 bytes, and its moves.
func (w *itemWorker) next() ([]item.Record, item.Moves) {
	now := time.Now()
	payload := []byte(`{"bin":"A-01-0077","note":"` + strings.Repeat("r", 271) + `"}`)
	items := make([]item.Record, w.batch)
	w.position++
	moves := item.Moves{Position: w.position, List: make([]item.Move, 0, 2*w.batch)}
	for i := range items {
		w.made++
		items[i] = item.Record{
			New: item.New{
				ID: fmt.Sprintf("i_%010x%016x", now.UnixMilli(), w.shuffled()), Priority: 3, Payload: payload, Created: now,
			},
			Ready: now, By: "producer", Node: "node-1", State: item.Ready,
		}
		leased := item.Move{
			Seq: w.made, N: 1, At: now, From: item.Ready, To: item.Leased, Attempt: 1, Due: now.Add(lease), By: "worker-1", Node: "node-1",
		}
		done := leased
		done.N, done.From, done.To, done.Due = 2, item.Leased, item.Done, time.Time{}
		moves.List = append(moves.List, leased, done)
	}
	return items, moves
}

// shuffled returns the part of an item's id that follows the time. Its values are spread as random numbers are.
func (w *itemWorker) shuffled() uint64 { return uint64(w.made*64+int64(w.number)) * 0x9e3779b97f4a7c15 } //nolint:gosec // counts up

// BenchmarkItemReads fills a queue with 100,000 unfinished items and as many done items that hold their keys.
// BenchmarkItemReads measures reading the items back, as a rebuild of the queue does. BenchmarkItemReads also measures
// a list of the latest done items, and a Prune that removes nothing.
func BenchmarkItemReads(b *testing.B, l ledger.Ledger) {
	b.Helper()
	const count, batch, page = 100_000, 1000, 1000
	w := &itemWorker{Ledger: l, queue: queue, batch: batch}
	noError(b, l.BeginEpoch(b.Context(), queue, "", ledger.IndexState{Epoch: "e1"}, "a", 0))
	for n := range 2 * count / batch {
		items, moves := w.next()
		for i := range items {
			items[i].Bucket, items[i].Until = "d20260601:"+items[i].ID, items[i].Created.Add(time.Hour)
		}
		known, err := l.PushItems(b.Context(), queue, items)
		noError(b, err)
		if n%2 == 0 {
			continue
		}
		for i := range moves.List {
			moves.List[i].Seq = known[i/2].Seq
		}
		noError(b, l.ApplyMoves(b.Context(), queue, "e1", []item.Moves{moves}))
	}
	pages := func(b *testing.B, read func(after int64) (int, int64, error)) {
		b.Helper()
		for b.Loop() {
			got, after := 0, int64(0)
			for {
				n, last, err := read(after)
				noError(b, err)
				if n == 0 {
					break
				}
				got, after = got+n, last
			}
			equal(b, count, got)
		}
		b.ReportMetric(float64(count*b.N)/b.Elapsed().Seconds(), "items/s")
	}
	b.Run("unfinished", func(b *testing.B) {
		pages(b, func(after int64) (int, int64, error) {
			list, err := l.UnfinishedItems(b.Context(), queue, after, page)
			if len(list) == 0 {
				return 0, 0, err
			}
			return len(list), list[len(list)-1].Seq, err
		})
	})
	b.Run("held keys", func(b *testing.B) {
		pages(b, func(after int64) (int, int64, error) {
			list, err := l.HeldKeys(b.Context(), queue, time.Now(), after, page)
			if len(list) == 0 {
				return 0, 0, err
			}
			return len(list), list[len(list)-1].Seq, err
		})
	})
	b.Run("the latest done", func(b *testing.B) {
		for b.Loop() {
			list, _, err := l.EndedItems(b.Context(), queue, item.Done, nil, 0, 100)
			noError(b, err)
			equal(b, 100, len(list))
		}
	})
	b.Run("prune, nothing", func(b *testing.B) {
		for b.Loop() {
			_, err := l.Prune(b.Context(), time.Now().Add(-time.Hour), 5)
			noError(b, err)
		}
	})
}

// BenchmarkCommitPushes measures the time that a push channel adds to a commit of BenchBatch notices to the inbox. It
// also measures a commit in which the findings of these notices are over. BenchmarkCommitPushes reports milliseconds.
func BenchmarkCommitPushes(b *testing.B, l ledger.Ledger) {
	b.Helper()
	f := (&base{Ledger: l, clock: newClock(time.Now())}).fixture()
	f.subscribed(b)
	_, err := l.PutSubscriber(b.Context(), Ann, delivery.Subscriber{ID: "user:1", Mail: []string{"a@example.com"}})
	noError(b, err)
	sparing := delivery.Strategy{Kind: delivery.Delayed, Delay: time.Hour, Unless: delivery.UnlessResolved}
	n := 0
	for _, c := range []struct {
		name    string
		targets []ledger.Target
	}{
		{"inbox", []ledger.Target{inbox}},
		{"and push", []ledger.Target{inbox, {Sink: gateway, Strategy: &sparing}}},
		{"and each", []ledger.Target{inbox, {Sink: "mail", Each: true, Address: "mail", Strategy: &sparing}}},
	} {
		b.Run(c.name, func(b *testing.B) {
			var firing, over time.Duration
			for b.Loop() {
				n += 2
				claim := f.claimFor(b, n)
				run := benchCommit(claim, n)
				for i := range run.Notices {
					run.Notices[i].Sinks = c.targets
				}
				firing += timed(func() { f.commitRun(b, claim, run) })
				claim = f.claimFor(b, n+1)
				end := commitOf(claim)
				for i := range run.Notices {
					end.Over = append(end.Over, run.Notices[i].Notice.ID)
				}
				over += timed(func() { f.commitRun(b, claim, end) })
			}
			b.ReportMetric(firing.Seconds()*1000/float64(b.N), "firing-ms")
			b.ReportMetric(over.Seconds()*1000/float64(b.N), "over-ms")
			b.ReportMetric(0, "ns/op")
		})
	}
}

// claimFor claims the n-th firing with a lease that lasts for the benchmark.
func (f *base) claimFor(b *testing.B, n int) ledger.Claim {
	b.Helper()
	c, err := f.Claim(b.Context(), rule, scope, 0, due(n), "a", time.Hour)
	noError(b, err)
	return c
}

func (f *base) commitRun(b *testing.B, c ledger.Claim, run *ledger.Commit) {
	b.Helper()
	_, err := f.Commit(b.Context(), c, run)
	noError(b, err)
}

// BenchNotice makes a notice for benchmarks that fill the tables themselves.
func BenchNotice() *notice.Notice { return traced("n_old", 1) }
