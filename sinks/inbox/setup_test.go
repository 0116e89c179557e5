package inbox

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"tallyman/internal/delivery"
	"tallyman/internal/notice"
	"tallyman/internal/testenv"
	"tallyman/sinks/inbox/page"
	"tallyman/sinks/recovery"
	"tallyman/sinks/sinktest"
)

// The time limits and sizes of tests.
const (
	raceFactor = testenv.RaceFactor
	rebuilt    = 100_000 / testenv.RaceCut
	perWriter  = 120 / min(testenv.RaceCut, 2)
)

const wh = "119240"

// site is a test with a Redis. Several addresses, with commas between them, are a Cluster; those of Sentinels follow
// the name of their primary and an @. Where the servers are others', too, the prefix of the test's keys comes last,
// after a #.
type site struct {
	*testing.T
	addr string
}

func dial(addr string, watch *recovery.Watch) redis.UniversalClient {
	o := &redis.UniversalOptions{OnConnect: watch.OnConnect, DialTimeout: time.Second}
	if primary, sentinels, ok := strings.Cut(addr, "@"); ok {
		o.MasterName, addr = primary, sentinels
	}
	o.Addrs = strings.Split(addr, ",")
	return redis.NewUniversalClient(o)
}

// onAll runs a test on three kinds of Redis: a real one, a Cluster, which refuses keys of different slots, and the
// in-process one, whose Lua numbers and commands differ.
func onAll(t *testing.T, test func(t site)) {
	t.Helper()
	t.Run("redis", func(t *testing.T) {
		t.Parallel()
		test(site{t, testenv.Redis(t).Addr})
	})
	t.Run("cluster", func(t *testing.T) {
		t.Parallel()
		test(site{t, strings.Join(testenv.SharedCluster(t).Addrs(), ",") + "#" + newPrefix()})
	})
	t.Run("miniredis", func(t *testing.T) {
		t.Parallel()
		test(site{t, testenv.Miniredis(t).Addr()})
	})
}

var prefixes atomic.Int64

// newPrefix is one for keys that no other test has.
func newPrefix() string { return fmt.Sprintf("test%d:", prefixes.Add(1)) }

// node is one process with its inbox.
type node struct {
	*Inbox
	ledger *memoryLedger
	client redis.UniversalClient
	stop   func()
}

var nodes atomic.Int64

// newNode connects a node and runs it. The change may set options.
func newNode(t testing.TB, addr string, ledger *memoryLedger, change ...func(*Options)) *node {
	t.Helper()
	return newNodeThat(t, (*Inbox).Run, addr, ledger, change...)
}

// newNodeThat runs only a part of Run.
func newNodeThat(t testing.TB, run func(*Inbox, context.Context), addr string, ledger *memoryLedger, change ...func(*Options)) *node {
	t.Helper()
	watch := recovery.NewWatch()
	addr, prefix, ok := strings.Cut(addr, "#")
	if !ok {
		prefix = "tallyman:"
	}
	client := dial(addr, watch)
	o := Options{
		Client: client, Watch: watch, Ledger: ledger, Prefix: prefix, Session: sinktest.Session(fmt.Sprintf("node-%d", nodes.Add(1))),
		Logger: slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelInfo})),
	}
	for _, f := range change {
		f(&o)
	}
	in, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background()) //nolint:usetesting // it must outlive the cleanups that use it
	var wg sync.WaitGroup
	wg.Go(func() { run(in, ctx) })
	n := &node{Inbox: in, ledger: ledger, client: client, stop: sync.OnceFunc(func() {
		cancel()
		wg.Wait()
		_ = client.Close()
	})}
	t.Cleanup(n.stop)
	testenv.Eventually(t, func() bool { return in.Ready() == nil }, 20*time.Second)
	return n
}

var seqs atomic.Int64

// make returns n deliveries of the warehouse to the subscribers.
func makeDeliveries(n int, warehouse string, to ...string) []delivery.Delivery {
	out := make([]delivery.Delivery, n)
	slices.Sort(to)
	for i := range out {
		seq := seqs.Add(1)
		now := time.Now().Truncate(time.Microsecond).UTC()
		key := fmt.Sprintf(`["%d"]`, seq)
		out[i] = delivery.Delivery{Seq: seq, Recipients: to, Notice: &notice.Notice{
			ID: notice.ID("rule", warehouse, key, "1", notice.Firing, 0), Type: "REP_NOTICE", TypeID: 124719, Warehouse: warehouse,
			Rule: "rule", Scope: warehouse, Key: key, Episode: "1", Status: notice.Firing, Priority: 3, Modal: "silent",
			Title: fmt.Sprintf("Bin %d", seq), Body: "S1 went below zero", Count: 1, CreatedAt: now, ExpiresAt: now.Add(72 * time.Hour),
		}}
	}
	return out
}

// deliver delivers and records, as the engine does.
func (n *node) deliver(t testing.TB, batch []delivery.Delivery) []delivery.Receipt {
	t.Helper()
	receipts, err := n.Deliver(t.Context(), batch[0].Notice.Warehouse, batch)
	if err != nil {
		t.Fatal(err)
	}
	if err := n.ledger.record(batch, receipts); err != nil {
		t.Fatal(err)
	}
	return receipts
}

func (n *node) poll(t testing.TB, q page.Query) page.Page {
	t.Helper()
	pg, err := n.Poll(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	return pg
}

// everywhere calls f with every server, for what concerns more than one slot.
func (n *node) everywhere(t testing.TB, f func(ctx context.Context, c redis.Cmdable) error) {
	t.Helper()
	var err error
	if cluster, ok := n.client.(*redis.ClusterClient); ok {
		err = cluster.ForEachMaster(t.Context(), func(ctx context.Context, c *redis.Client) error { return f(ctx, c) })
	} else {
		err = f(t.Context(), n.client)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// keysLike returns the keys of the node that match, sorted.
func (n *node) keysLike(t testing.TB, pattern string) []string {
	t.Helper()
	var mu sync.Mutex
	var all []string
	n.everywhere(t, func(ctx context.Context, c redis.Cmdable) error {
		found, err := c.Keys(ctx, n.o.Prefix+pattern).Result()
		mu.Lock()
		defer mu.Unlock()
		all = append(all, found...)
		return err
	})
	slices.Sort(all)
	return all
}

// forget removes everything that the node has in Redis, as FLUSHALL does. It removes the epoch last, so that nothing is
// written back before all is gone.
func (n *node) forget(t testing.TB) {
	t.Helper()
	epoch := n.keys.epoch()
	keys := slices.DeleteFunc(n.keysLike(t, "*"), func(key string) bool { return key == epoch })
	for _, key := range append(keys, epoch) {
		if err := n.client.Del(t.Context(), key).Err(); err != nil {
			t.Fatal(err)
		}
	}
}

func query(subscribers ...string) page.Query {
	slices.Sort(subscribers)
	return page.Query{Warehouse: wh, Subscribers: subscribers}
}

func after(q page.Query, cursor string) page.Query {
	q.After = cursor
	return q
}

func ids(pg page.Page) []string {
	out := []string{}
	for _, v := range pg.Notices {
		out = append(out, v.ID)
	}
	return out
}

func idsOf(batch []delivery.Delivery) []string {
	out := []string{}
	for _, d := range batch {
		out = append(out, d.Notice.ID)
	}
	return out
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

func capOf(n int) func(*Options) { return func(o *Options) { o.Cap = n } }

func onMiniredis(t testing.TB) string {
	t.Helper()
	return testenv.Miniredis(t).Addr()
}
