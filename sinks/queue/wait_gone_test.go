package queue

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"tallyman/internal/item"
	"tallyman/internal/testenv"
)

// barrier holds back all calls of scripts while it is down.
type barrier struct {
	mu   sync.RWMutex // held while it is down
	held chan struct{}
}

func (b *barrier) DialHook(next redis.DialHook) redis.DialHook { return next }

func (b *barrier) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

func (b *barrier) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if cmd.Name() == "evalsha" && !b.mu.TryRLock() {
			b.held <- struct{}{}
			b.mu.RLock()
			defer b.mu.RUnlock()
		} else if cmd.Name() == "evalsha" {
			defer b.mu.RUnlock()
		}
		return next(ctx, cmd)
	}
}

// If a woken call ends before it can ask, it wakes the next call, which then does not wait until it asks by itself.
func TestAWakeOfOneWhoGoesIsHandedOn(t *testing.T) {
	t.Parallel()
	addr := testenv.Redis(t).Addr
	b := &barrier{held: make(chan struct{}, 10)}
	n := newNodeThat(t, func(q *Queue, ctx context.Context) {
		var wg sync.WaitGroup
		wg.Go(func() { q.listen(ctx) })
		q.keeper.Run(ctx)
		wg.Wait()
	}, addr, nil, func(o *Options) { o.Client.AddHook(b) })
	other := newNodeThat(t, keep, addr, nil)
	l := n.lines[0]

	ctx, cancel := context.WithCancel(t.Context())
	gone, got := make(chan error, 1), make(chan []item.Lease, 1)
	go func() {
		_, err := n.Step(ctx, item.Step{Caller: item.Caller{Worker: "first"}, Max: 1, Wait: MaxWait})
		gone <- err
	}()
	testenv.Eventually(t, func() bool { return l.waiters.count() == 1 }, soon)
	go func() {
		out, err := n.Step(t.Context(), item.Step{Caller: item.Caller{Worker: "second"}, Max: 1, Wait: MaxWait})
		if err != nil {
			t.Error(err)
		}
		got <- out.Items
	}()
	testenv.Eventually(t, func() bool { return l.waiters.count() == 2 && len(l.waiters.wokenNow()) == 0 }, soon)
	n.mustStep(t, item.Step{Ops: []item.Op{{Kind: item.Finish, ID: "none"}}}) // behind the first questions of both

	b.mu.Lock()
	var busy sync.WaitGroup
	for range stepFlights {
		busy.Go(func() { n.mustStep(t, item.Step{Ops: []item.Op{{Kind: item.Finish, ID: "none"}}}) })
		<-b.held
	}
	other.mustPush(t, newItems(1, 3, "i")...)
	testenv.Eventually(t, func() bool { return l.steps.Waiting() == 1 }, soon)
	cancel()
	if err := <-gone; !errors.Is(err, context.Canceled) {
		t.Errorf("the first: %v", err)
	}
	b.mu.Unlock()
	busy.Wait()
	select {
	case items := <-got:
		if len(items) != 1 {
			t.Errorf("the second got %+v", items)
		}
	case <-time.After(soon):
		t.Error("the second waits, and there is an item")
	}
}
