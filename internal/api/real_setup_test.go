package api_test

import (
	"context"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"tallyman/internal/delivery"
	"tallyman/internal/notice"
	"tallyman/internal/testenv"
	"tallyman/sinks/inbox"
	"tallyman/sinks/recovery"
	"tallyman/sinks/sinktest"
)

// realInbox is the inbox sink on a Redis.
type realInbox struct {
	*inbox.Inbox

	ledger *quietLedger
	client *redis.Client
}

func newRealInbox(t testing.TB, addr string) *realInbox {
	t.Helper()
	return newNode(t, addr, &quietLedger{})
}

// newNode is another process with that inbox.
func newNode(t testing.TB, addr string, ledger *quietLedger) *realInbox {
	t.Helper()
	watch := recovery.NewWatch()
	client := redis.NewClient(&redis.Options{Addr: addr, OnConnect: watch.OnConnect})
	in, err := inbox.New(inbox.Options{
		Client: client, Watch: watch, Ledger: ledger, Session: sinktest.Session("node-1"), Prefix: "tallyman:", Logger: slog.New(slog.DiscardHandler),
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
	testenv.Eventually(t, func() bool { return in.Ready() == nil }, 60*time.Second)
	return &realInbox{Inbox: in, ledger: ledger, client: client}
}

// deliver puts notices with these titles into the inboxes of the recipients, and records it.
func (r *realInbox) deliver(t testing.TB, warehouse string, to []string, titles ...string) {
	t.Helper()
	if err := r.tryDeliver(t.Context(), warehouse, to, titles...); err != nil {
		t.Fatal(err)
	}
}

func (r *realInbox) tryDeliver(ctx context.Context, warehouse string, to []string, titles ...string) error {
	batch := make([]delivery.Delivery, len(titles))
	for i, title := range titles {
		seq := r.ledger.seq.Add(1)
		now := time.Now().UTC().Truncate(time.Microsecond)
		batch[i] = delivery.Delivery{Seq: seq, Recipients: to, Notice: &notice.Notice{
			ID: notice.ID("rule", warehouse, title, "1", notice.Firing, 0), Type: "REP_NOTICE", TypeID: 124719, Warehouse: warehouse, Rule: "rule",
			Key: "[1]", Episode: "1", Status: notice.Firing, Priority: 3, Modal: "silent", Title: title, Count: 1, CreatedAt: now, ExpiresAt: now.Add(time.Hour),
		}}
	}
	for began := time.Now(); ; {
		receipts, err := r.Deliver(ctx, warehouse, batch)
		if err != nil && time.Since(began) > 30*time.Second {
			return err
		}
		if err != nil { // the index may be on its way back: a lane tries again, too
			<-time.After(10 * time.Millisecond)
			continue
		}
		if r.ledger.record(batch, receipts) {
			return nil
		}
	}
}
