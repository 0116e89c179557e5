package inbox

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"

	"tallyman/internal/testenv"
)

// A cluster of one primary refuses what is not in one slot just as one of many does.
func TestOnACluster(t *testing.T) {
	t.Parallel()
	r := testenv.Redis(t, "--cluster-enabled", "yes")
	single := r.Client(t)
	if err := single.ClusterAddSlotsRange(t.Context(), 0, 16383).Err(); err != nil {
		t.Fatal(err)
	}
	testenv.Eventually(t, func() bool { return single.Set(t.Context(), "up", "1", 0).Err() == nil }, 10*time.Second)
	watch := NewWatch()
	client := redis.NewClusterClient(&redis.ClusterOptions{Addrs: []string{r.Addr}, OnConnect: watch.OnConnect})
	ledger := newMemoryLedger()
	var ahead atomic.Int64
	in, err := New(Options{
		Client: client, Watch: watch, Ledger: ledger, Node: "n", Prefix: "tallyman:", Cap: 5,
		Now: func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) },
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() { in.Run(ctx) })
	t.Cleanup(func() {
		cancel()
		wg.Wait()
		_ = client.Close()
	})
	testenv.Eventually(t, func() bool { return in.Ready() == nil }, 20*time.Second)
	n := &node{Inbox: in, ledger: ledger}

	batch := makeDeliveries(7, wh, "role:k", "user:1") // two more than the cap
	n.deliver(t, batch)
	short := makeDeliveries(1, "other", "user:1")
	short[0].Notice.ExpiresAt = time.Now().Add(time.Minute)
	n.deliver(t, short)
	q := query("role:k", "user:1")
	pg := n.poll(t, q)
	if diff := cmp.Diff(idsOf(batch[2:]), ids(pg)); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	ahead.Store(int64(time.Hour))
	if err := in.Sweep(t.Context()); err != nil {
		t.Error(err)
	}
	if gone, err := client.HLen(t.Context(), in.keys.notices("other")).Result(); err != nil || gone != 0 {
		t.Errorf("%d bodies left, %v", gone, err)
	}
	done := waiting(t.Context(), n, q, pg.Version)
	more := makeDeliveries(1, wh, "role:k")
	n.deliver(t, more)
	if err := <-done; err != nil {
		t.Error(err)
	}
	flushAll(t, r)
	back := n.poll(t, after(q, pg.Cursor))
	if want := idsOf(slices.Concat(batch[3:], more)); !back.Reset || len(back.Notices) < 5 || !slices.Equal(ids(back)[len(back.Notices)-4:], want[len(want)-4:]) {
		t.Errorf("after a loss: reset %v, %v, want %v", back.Reset, ids(back), want)
	}
}
