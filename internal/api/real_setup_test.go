package api_test

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"tallyman/engine/notice"
	"tallyman/internal/testenv"
	"tallyman/sinks"
	"tallyman/sinks/inbox"
	"tallyman/sinks/index"
)

// realInbox is the inbox sink on a Redis.
type realInbox struct {
	*inbox.Inbox

	ledger *quietLedger
	client *redis.Client
}

func newRealInbox(t testing.TB, addr string) *realInbox {
	t.Helper()
	watch, ledger := index.NewWatch(), &quietLedger{}
	client := redis.NewClient(&redis.Options{Addr: addr, OnConnect: watch.OnConnect})
	in, err := inbox.New(inbox.Options{
		Client: client, Watch: watch, Ledger: ledger, Node: "node-1", Prefix: "tallyman:", Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background()) //nolint:usetesting // it ends in the cleanup, after the servers
	var wg sync.WaitGroup
	wg.Go(func() { in.Run(ctx) })
	t.Cleanup(func() {
		cancel()
		wg.Wait()
		_ = client.Close()
	})
	testenv.Eventually(t, func() bool { return in.Ready() == nil }, 10*time.Second)
	return &realInbox{Inbox: in, ledger: ledger, client: client}
}

// deliver puts notices with these titles into the inboxes of the recipients.
func (r *realInbox) deliver(t testing.TB, warehouse string, to []string, titles ...string) {
	t.Helper()
	batch := make([]sinks.Delivery, len(titles))
	for i, title := range titles {
		seq := r.ledger.seq.Add(1)
		now := time.Now().UTC().Truncate(time.Microsecond)
		batch[i] = sinks.Delivery{Seq: seq, Recipients: to, Notice: &notice.Notice{
			ID: notice.ID("rule", warehouse, title, "1", notice.Firing, 0), Type: "REP_NOTICE", TypeID: 124719, Warehouse: warehouse, Rule: "rule",
			Key: "[1]", Episode: "1", Status: notice.Firing, Priority: 3, Modal: "silent", Title: title, Count: 1, CreatedAt: now, ExpiresAt: now.Add(time.Hour),
		}}
	}
	if _, err := r.Deliver(t.Context(), warehouse, batch); err != nil {
		t.Fatal(err)
	}
}

// quietLedger is what the inbox needs to begin an epoch. It counts the questions: polls must ask none.
type quietLedger struct {
	mu    sync.Mutex
	state *sinks.IndexState
	seq   atomic.Int64
	asked atomic.Int64
}

func (l *quietLedger) IndexState(context.Context, string) (sinks.IndexState, error) {
	l.asked.Add(1)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.state == nil {
		return sinks.IndexState{}, sinks.ErrNotFound
	}
	return *l.state, nil
}

func (l *quietLedger) BeginEpoch(_ context.Context, _, _ string, next sinks.IndexState, _ string, _ time.Duration) error {
	l.asked.Add(1)
	l.mu.Lock()
	defer l.mu.Unlock()
	next.Building = true
	l.state = &next
	return nil
}

func (l *quietLedger) FinishEpoch(context.Context, string, string) error {
	l.asked.Add(1)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.state.Building = false
	return nil
}

func (l *quietLedger) HighestScores(context.Context, string) (map[string]int64, error) {
	l.asked.Add(1)
	return map[string]int64{}, nil
}

func (l *quietLedger) Delivered(context.Context, sinks.Lane, int64, int) ([]sinks.Delivered, error) {
	l.asked.Add(1)
	return nil, nil
}
