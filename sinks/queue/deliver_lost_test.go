package queue

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"tallyman/internal/delivery"
	"tallyman/internal/item"
	"tallyman/internal/ledger"
	"tallyman/internal/notice"
	"tallyman/internal/testenv"
)

// behindLedger takes no moves while it is behind.
type behindLedger struct {
	ledger.Ledger
	behind atomic.Bool
}

func (l *behindLedger) ApplyMoves(ctx context.Context, queue, epoch string, entries []item.Moves) error {
	if l.behind.Load() {
		return errors.New("the ledger is behind")
	}
	return l.Ledger.ApplyMoves(ctx, queue, epoch, entries)
}

// TestWhatANoticeChangedOutlivesRedis: a delivery that has changed an item is not done before the ledger knows of the change. Nobody would deliver it again.
func TestWhatANoticeChangedOutlivesRedis(t *testing.T) {
	t.Parallel()
	for name, one := range map[string]struct {
		second *notice.Notice
		want   string
	}{
		"an item follows its finding":      {repeats("A", 1, 5, ""), "ready 5/ A for the time 1"},
		"a resolution takes its item away": {resolves("A", 1), "removed"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			onBothLedgers(t, func(t *testing.T, l ledger.Ledger) {
				t.Helper()
				behind := &behindLedger{Ledger: l}
				n := newNode(t, testenv.Redis(t).Addr, behind)
				first := repeats("A", 0, 3, "")
				n.mustTake(t, first)
				if _, err := n.Get(t.Context(), false, nil, first.ID); err != nil { // the ledger knows
					t.Fatal(err)
				}
				behind.behind.Store(true)
				tried, delivered := make(chan struct{}), make(chan struct{})
				go func() { // as a lane
					defer close(delivered)
					for first := true; t.Context().Err() == nil; first = false {
						ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
						_, err := n.Deliver(ctx, "", []delivery.Delivery{{Seq: 2, Notice: one.second}})
						cancel()
						if first {
							close(tried)
						}
						if err == nil {
							return
						}
					}
				}()
				<-tried
				if err := n.client.FlushAll(t.Context()).Err(); err != nil {
					t.Fatal(err)
				}
				behind.behind.Store(false)
				<-delivered
				testenv.Eventually(t, func() bool {
					got, err := n.Get(t.Context(), false, nil, first.ID)
					return err == nil && (string(got.Item.State) == one.want || n.says(t, first.ID) == one.want)
				}, 20*time.Second)
			})
		})
	}
}
