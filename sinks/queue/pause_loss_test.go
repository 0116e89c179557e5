package queue

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"tallyman/internal/item"
	"tallyman/internal/testenv"
)

// lateLedger is paused right after it was asked whether it is, if Redis takes that in the epoch that is about to end.
type lateLedger struct {
	*memoryLedger

	redis *redis.Client
	meta  string
	old   atomic.Value // the epoch
	asked atomic.Bool  // in the end of that
}

func (l *lateLedger) QueuePause(ctx context.Context, queue string) (item.Pause, error) {
	p, err := l.memoryLedger.QueuePause(ctx, queue)
	if old := l.old.Load(); old != nil && queue == queueName && l.asked.CompareAndSwap(false, true) {
		if found, _ := l.redis.HGet(ctx, l.meta, "epoch").Result(); found == old {
			err = l.SetQueuePause(ctx, anOrder, queue, item.Pause{Paused: true, By: "tester", At: time.Now()})
		}
	}
	return p, err
}

// A pause that was told to an epoch at its very end counts in the next one.
func TestAPauseAtTheEndOfAnEpochIsKept(t *testing.T) {
	t.Parallel()
	r := testenv.Redis(t)
	ledger := &lateLedger{memoryLedger: newMemoryLedger(), redis: r.Client(t)}
	n := newNodeThat(t, keep, r.Addr, ledger)
	g, _ := n.keeper.Current()
	ledger.meta = n.lines[0].keys.meta()
	ledger.old.Store(g.Epoch)
	if err := n.client.HSet(t.Context(), n.lines[0].keys.epoch(), "epoch", "lost").Err(); err != nil {
		t.Fatal(err)
	}
	testenv.Eventually(t, func() bool { return !n.keeper.Is(g) && n.Ready() == nil }, 10*time.Second)
	s, err := n.Sizes(t.Context(), false, nil)
	want, _ := ledger.QueuePause(t.Context(), queueName)
	if err != nil || !ledger.asked.Load() || s.Pause.Paused != want.Paused {
		t.Errorf("Redis has %+v, the ledger %+v, %v", s.Pause, want, err)
	}
}
