package recovery

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"tallyman/internal/delivery"
	"tallyman/internal/testenv"
	"tallyman/sinks/sinktest"
)

// epochs is the part of the ledger that keepers talk to, in memory.
type epochs struct {
	mu     sync.Mutex
	state  *delivery.IndexState
	begun  []string
	before func() // runs before the next IndexState answers
}

func (l *epochs) IndexState(context.Context, string) (delivery.IndexState, error) {
	if f := l.before; f != nil {
		l.before = nil
		f()
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.state == nil {
		return delivery.IndexState{}, delivery.ErrNotFound
	}
	return *l.state, nil
}

func (l *epochs) BeginEpoch(_ context.Context, _, prev string, next delivery.IndexState, node string, lease time.Duration) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.state == nil && prev != "" || l.state != nil && l.state.Epoch != prev {
		return delivery.ErrFenced
	}
	if prev != next.Epoch {
		l.begun = append(l.begun, next.Epoch)
	}
	next.Building, next.Node, next.Lease = true, node, time.Now().Add(lease)
	l.state = &next
	return nil
}

func (l *epochs) FinishEpoch(_ context.Context, _, epoch string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.state == nil || l.state.Epoch != epoch {
		return delivery.ErrFenced
	}
	l.state.Building = false
	return nil
}

func (l *epochs) set(s delivery.IndexState) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.state = &s
}

func (l *epochs) count() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.begun)
}

// things is an index that holds one value, and remembers how often it was written back.
type things struct {
	client  redis.UniversalClient
	rebuilt atomic.Int64
	meets   atomic.Pointer[string] // the epoch that the next Rebuild meets
	build   func(ctx context.Context) error
	ahead   atomic.Pointer[string] // what the ledger does not know

	withheld atomic.Int64 // how often Withhold was called
}

const thing = "thing"

func (c *things) Missing(ctx context.Context, epoch string) (string, error) {
	found, err := c.client.Get(ctx, thing).Result()
	if err != nil && !errors.Is(err, redis.Nil) {
		return "", err
	}
	if found != epoch {
		return "the thing is gone", nil
	}
	return "", nil
}

func (c *things) Ahead(context.Context, string) (string, error) {
	if ahead := c.ahead.Load(); ahead != nil {
		return *ahead, nil
	}
	return "", nil
}

func (c *things) Withhold(context.Context, string) (withheld, dropped int, err error) {
	c.withheld.Add(1)
	return 2, 3, nil
}

func (c *things) Rebuild(ctx context.Context, epoch string) (int, error) {
	if met := c.meets.Swap(nil); met != nil {
		return 0, fmt.Errorf("thing: %w", Known(errors.New("EPOCH "+*met)))
	}
	if c.build != nil {
		if err := c.build(ctx); err != nil {
			return 0, err
		}
	}
	c.rebuilt.Add(1)
	return 1, c.client.Set(ctx, thing, epoch, 0).Err()
}

// node is a process with its keeper.
type node struct {
	*Keeper
	things *things
	client redis.UniversalClient
}

var nodes atomic.Int64

// newNode connects a node. Run has to be started.
func newNode(t testing.TB, addr string, change ...func(*Options)) *node {
	t.Helper()
	watch := NewWatch()
	client := redis.NewClient(&redis.Options{Addr: addr, OnConnect: watch.OnConnect, DialTimeout: time.Second})
	t.Cleanup(func() { _ = client.Close() })
	c := &things{client: client}
	o := Options{
		Client: client, Watch: watch, Contents: c, Session: sinktest.Session(fmt.Sprintf("node-%d", nodes.Add(1))), Sink: "things",
		EpochKey: "epoch", Channel: "hints",
		Logger: slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelInfo})),
	}
	for _, f := range change {
		f(&o)
	}
	k, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	return &node{k, c, client}
}

func with(l Ledger) func(*Options) { return func(o *Options) { o.Ledger = l } }

// running is a node with Run under way.
func running(t testing.TB, addr string, change ...func(*Options)) *node {
	t.Helper()
	n := newNode(t, addr, change...)
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() { n.Run(ctx) })
	t.Cleanup(func() { cancel(); wg.Wait() })
	return n
}

// serves waits until the node serves, and returns what.
func (n *node) serves(t testing.TB) *Generation {
	t.Helper()
	g, err := n.Await(t.Context(), time.Now().Add(20*time.Second))
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// site is a test with a Redis.
type site struct {
	*testing.T
	addr  string
	flush func()
}

// onBoth runs a test on a real Redis, which has a run id, and on the in-process one, which has none.
func onBoth(t *testing.T, test func(t site)) {
	t.Helper()
	t.Run("redis", func(t *testing.T) {
		t.Parallel()
		r := testenv.Redis(t)
		test(site{t, r.Addr, func() {
			if err := r.Client(t).FlushAll(t.Context()).Err(); err != nil {
				t.Fatal(err)
			}
		}})
	})
	t.Run("miniredis", func(t *testing.T) {
		t.Parallel()
		m := testenv.Miniredis(t)
		test(site{t, m.Addr(), m.FlushAll})
	})
}
