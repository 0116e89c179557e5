package bench

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/redis/go-redis/v9"

	"tallyman/internal/item"
	"tallyman/internal/testenv"
	sink "tallyman/sinks/queue"
	"tallyman/sinks/recovery"
	"tallyman/sinks/sinktest"
)

// tallyman is the queue sink on Redis alone, as asynq runs. A job that Redis loses is lost.
func tallyman() contender {
	return contender{
		name:    "tallyman",
		open:    func(t testing.TB, s *servers) queue { t.Helper(); return openTallyman(t, s, nil) },
		backlog: func(c cell) int { return 10_000 * min(c.workers, 3) * min(c.batch, 5) },
		ahead:   steady,
	}
}

// tallymanKeyed is tallyman with dedupe keys. Each item holds its dedupe key while the item lives.
func tallymanKeyed() contender {
	k := tallyman()
	k.name = "tallyman keyed"
	k.open = func(t testing.TB, s *servers) queue {
		t.Helper()
		q := openTallyman(t, s, nil)
		q.keyed = true
		return q
	}
	return k
}

// withLedger is the queue sink with its ledger on PostgreSQL, with fsync on. The ledger records a push before the
// answer to the push. It records traces and ends after the answers.
func withLedger() contender {
	return contender{
		name:    "ledger",
		open:    func(t testing.TB, s *servers) queue { t.Helper(); return openTallyman(t, s, openLedger(t, s, true)) },
		backlog: func(c cell) int { return 6000 * min(c.workers, 3) * min(c.batch, 3) },
		ahead:   func(c cell) int { return 5000 + steady(c) },
	}
}

// withoutTrace is withLedger, but it records only which items have ended. The difference to withLedger is the cost of a
// trace.
func withoutTrace() contender {
	k := withLedger()
	k.name = "no trace"
	k.open = func(t testing.TB, s *servers) queue { t.Helper(); return openTallyman(t, s, openLedger(t, s, false)) }
	return k
}

type tallymanQueue struct {
	client *redis.Client
	queue  *sink.Queue
	ledger *countingLedger // nil = Redis alone
	keyed  bool
	acked  atomic.Int64
	end    func() // ends Run
	cancel context.CancelFunc
	done   sync.WaitGroup
}

func openTallyman(t testing.TB, s *servers, ledger *countingLedger) *tallymanQueue {
	t.Helper()
	watch := recovery.NewWatch()
	q := &tallymanQueue{ledger: ledger}
	q.client = redis.NewClient(&redis.Options{Addr: s.redis.Addr, PoolSize: connections, OnConnect: watch.OnConnect})
	s.opened++
	options := sink.Options{
		Client: q.client, Watch: watch, Node: "bench", Session: sinktest.Session("bench"), Prefix: "bench:", Name: fmt.Sprintf("queue%d", s.opened),
		Settings: item.Settings{Lease: sink.DefaultLease, MaxAttempts: sink.DefaultMaxAttempts},
	}
	if ledger != nil {
		options.Ledger = ledger
	}
	var err error
	if q.queue, err = sink.New(options); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	running := make(chan struct{})
	go func() {
		defer close(running)
		q.queue.Run(ctx)
	}()
	q.end = func() { cancel(); <-running }
	testenv.Eventually(t, func() bool { return q.queue.Ready() == nil }, runDeadline)
	return q
}

func (q *tallymanQueue) push(ctx context.Context, list []job) error {
	items := make([]item.New, len(list))
	for i, j := range list {
		items[i] = item.New{Priority: j.priority(), Payload: json.RawMessage(j.payload)}
		if q.keyed {
			items[i].DedupeKey = strconv.Itoa(j.n)
		}
	}
	pushed, err := q.queue.Push(ctx, false, "bench", items)
	if err != nil {
		return err
	}
	for i := range pushed {
		if pushed[i].Outcome != item.Pushed {
			return fmt.Errorf("job %d: %s", list[i].n, pushed[i].Outcome)
		}
	}
	return nil
}

func (q *tallymanQueue) start(ctx context.Context, c cell, taken func([]byte), acked func(int)) error {
	ctx, q.cancel = context.WithCancel(ctx)
	for i := range c.workers {
		q.done.Go(func() { q.work(ctx, "worker"+strconv.Itoa(i), c.batch, taken, acked) })
	}
	return nil
}

// work acks items in the call that leases the next items. It waits for items only if it has nothing to ack, so that an
// ack is answered at once.
func (q *tallymanQueue) work(ctx context.Context, worker string, batch int, taken func([]byte), acked func(int)) {
	s := item.Step{Caller: item.Caller{Worker: worker}, Max: batch}
	for ctx.Err() == nil {
		s.Wait = 0
		if len(s.Ops) == 0 {
			s.Wait = sink.MaxWait
		}
		answer, err := q.queue.Step(ctx, s)
		if err != nil {
			continue // Repeat the unanswered step. The end of the context also comes as an error.
		}
		for _, r := range answer.Results {
			if r.Outcome != item.OK {
				panic(fmt.Sprintf("ack of %s: %s", r.ID, r.Outcome))
			}
		}
		q.acked.Add(int64(len(s.Ops)))
		acked(len(s.Ops))
		s.Ops = s.Ops[:0:0]
		for _, l := range answer.Items {
			taken(l.Payload)
			s.Ops = append(s.Ops, item.Op{Kind: item.Ack, ID: l.ID, Attempt: l.Attempt})
		}
	}
}

// settle waits until the ledger has the end of every item.
func (q *tallymanQueue) settle(ctx context.Context) error {
	if q.ledger == nil {
		return nil
	}
	return q.ledger.await(ctx, q.acked.Load())
}

func (q *tallymanQueue) close() {
	if q.cancel != nil {
		q.cancel()
	}
	q.done.Wait()
	q.end()
	_ = q.client.Close()
	if q.ledger != nil {
		q.ledger.close()
	}
}
