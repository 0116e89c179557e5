package queue

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"tallyman/internal/item"
	"tallyman/internal/testenv"
	"tallyman/sinks/recovery"
	"tallyman/sinks/sinktest"
)

// The time limits and sizes of tests.
const (
	raceFactor = testenv.RaceFactor
	rebuilt    = 100_000 / testenv.RaceCut
)

const queueName = "replenishment"

// site is a test with a Redis. Several addresses, with commas between them, are a Cluster; those of Sentinels follow
// the name of their primary and an @; behind a # comes a prefix of keys, where others use the same servers.
type site struct {
	*testing.T
	addr string
}

func dial(addr string, watch *recovery.Watch) redis.UniversalClient {
	return redis.NewUniversalClient(dialOptions(addr, watch))
}

func dialOptions(addr string, watch *recovery.Watch) *redis.UniversalOptions {
	addr, _, _ = strings.Cut(addr, "#")
	o := &redis.UniversalOptions{OnConnect: watch.OnConnect, DialTimeout: time.Second}
	if primary, sentinels, ok := strings.Cut(addr, "@"); ok {
		o.MasterName, addr = primary, sentinels
	}
	o.Addrs = strings.Split(addr, ",")
	return o
}

// onAll runs a test on four kinds of Redis: a real one, a Cluster, which refuses keys of different slots, a primary
// that a Sentinel has put in the place of another, and the in-process one, whose Lua numbers and commands differ.
func onAll(t *testing.T, test func(t site)) {
	t.Helper()
	t.Run("redis", func(t *testing.T) {
		t.Parallel()
		test(site{t, testenv.Redis(t).Addr})
	})
	t.Run("cluster", func(t *testing.T) {
		t.Parallel()
		test(site{t, strings.Join(testenv.SharedCluster(t).Addrs(), ",") + fmt.Sprintf("#site-%d:", sites.Add(1))})
	})
	t.Run("sentinel", func(t *testing.T) {
		t.Parallel()
		s := testenv.SharedSentinel(t)
		test(site{t, s.Name + "@" + s.Addr + fmt.Sprintf("#site-%d:", sites.Add(1))})
	})
	t.Run("miniredis", func(t *testing.T) {
		t.Parallel()
		test(site{t, testenv.Miniredis(t).Addr()})
	})
}

// node is one process with its queue.
type node struct {
	*Queue
	client redis.UniversalClient
	stop   func()
}

var nodes, sites atomic.Int64

// newNode connects a node and runs it. The ledger may be nil; the change may set options.
func newNode(t testing.TB, addr string, ledger Ledger, change ...func(*Options)) *node {
	t.Helper()
	return newNodeThat(t, (*Queue).Run, addr, ledger, change...)
}

// newNodeThat runs only a part of Run.
func newNodeThat(t testing.TB, run func(*Queue, context.Context), addr string, ledger Ledger, change ...func(*Options)) *node {
	t.Helper()
	watch := recovery.NewWatch()
	_, prefix, _ := strings.Cut(addr, "#")
	client := dial(addr, watch)
	name := fmt.Sprintf("node-%d", nodes.Add(1))
	o := Options{
		Client: client, Watch: watch, Ledger: ledger, Prefix: cmp.Or(prefix, "tallyman:"), Name: queueName,
		Node: name, Session: sinktest.Session(name),
		Settings: item.Settings{Lease: time.Minute, MaxAttempts: 5, SuspendSteps: []time.Duration{2 * time.Hour, 12 * time.Hour}},
		Logger:   slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelInfo})),
	}
	for _, f := range change {
		f(&o)
	}
	q, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background()) //nolint:usetesting // it must outlive the cleanups that use it
	var wg sync.WaitGroup
	wg.Go(func() { run(q, ctx) })
	n := &node{Queue: q, client: client, stop: sync.OnceFunc(func() {
		cancel()
		wg.Wait()
		_ = client.Close()
	})}
	t.Cleanup(n.stop)
	testenv.Eventually(t, func() bool { return q.Ready() == nil }, 20*time.Second)
	return n
}

// testClock is the time that a node's scripts get.
type testClock struct{ micros atomic.Int64 }

func newTestClock(at time.Time) *testClock {
	c := &testClock{}
	c.micros.Store(at.UnixMicro())
	return c
}

func (c *testClock) option(o *Options) { o.Now = c.now }

func (c *testClock) now() time.Time { return time.UnixMicro(c.micros.Load()).UTC() }

func (c *testClock) advance(d time.Duration) { c.micros.Add(d.Microseconds()) }

// newItems are items of a priority, with ids of their own where a prefix is given: it and a number from 1.
func newItems(n, priority int, prefix string) []item.New {
	out := make([]item.New, n)
	for i := range out {
		out[i] = item.New{Priority: priority, Payload: fmt.Appendf(nil, `{"bin":"A-%02d"}`, i)}
		if prefix != "" {
			out[i].ID = fmt.Sprintf("%s%d", prefix, i+1)
		}
	}
	return out
}

// mustPush pushes items that must all be new, and returns their ids.
func (n *node) mustPush(t testing.TB, items ...item.New) []string {
	t.Helper()
	results, err := n.Push(t.Context(), false, "tester", items)
	if err != nil {
		t.Fatal(err)
	}
	ids := make([]string, len(results))
	for i, r := range results {
		if r.Outcome != item.Pushed {
			t.Fatalf("item %d, %s: %s %s", i, r.ID, r.Outcome, r.Of)
		}
		ids[i] = r.ID
	}
	return ids
}

// mustStep does a step.
func (n *node) mustStep(t testing.TB, s item.Step) item.Stepped {
	t.Helper()
	out, err := n.Step(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// mustLease leases up to so many items.
func (n *node) mustLease(t testing.TB, worker string, most int) []item.Lease {
	t.Helper()
	return n.mustStep(t, item.Step{Caller: item.Caller{Worker: worker}, Max: most}).Items
}

// mustDo does one operation, which must come out as said.
func (n *node) mustDo(t testing.TB, op item.Op, want item.Outcome) item.Result {
	t.Helper()
	got := n.mustStep(t, item.Step{By: "tester", Ops: []item.Op{op}}).Results[0]
	if got.Outcome != want {
		t.Fatalf("%s of %s came out as %s, not %s", op.Kind, op.ID, got.Outcome, want)
	}
	return got
}

func idsOf(leases []item.Lease) []string {
	out := make([]string, len(leases))
	for i, l := range leases {
		out[i] = l.ID
	}
	return out
}
