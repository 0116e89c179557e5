package queue

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"tallyman/internal/item"
	"tallyman/internal/testenv"
)

// lossy loses the replies of scripts: the server runs the script, and the connection breaks before the reply arrives.
type lossy struct{ replies atomic.Int64 } // to be lost

func (l *lossy) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	var d net.Dialer
	conn, err := d.DialContext(ctx, network, addr)
	return &lossyConn{Conn: conn, lossy: l}, err
}

type lossyConn struct {
	net.Conn

	lossy  *lossy
	script atomic.Bool // what was written last calls one
}

func (c *lossyConn) Write(b []byte) (int, error) {
	c.script.Store(bytes.Contains(b[:min(len(b), 40)], []byte("evalsha")))
	return c.Conn.Write(b)
}

func (c *lossyConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if err == nil && c.script.Load() && c.lossy.replies.Add(-1) >= 0 {
		_ = c.Close()
		return 0, io.EOF
	}
	return n, err
}

// newLossyNode is a node whose connections can lose replies from now on.
func newLossyNode(t testing.TB, addr string, ledger Ledger) (*node, *lossy) {
	t.Helper()
	l := &lossy{}
	return newNodeThat(t, keep, addr, ledger, fresh, func(o *Options) {
		to := dialOptions(addr, o.Watch)
		to.Dialer = l.dial
		client := redis.NewUniversalClient(to)
		t.Cleanup(func() { _ = client.Close() })
		o.Client = client
	}), l
}

// The client library repeats a call whose reply was lost. With peers, and with any plain script, that leases twice, and
// tells who acks that it has lost its lease. Here the repeated call is known: by the library's three repetitions, and
// by ours behind those.
func TestALostReplyLeasesOnceAndAcksOnce(t *testing.T) {
	t.Parallel()
	onAll(t, func(t site) {
		for _, lost := range []int64{1, 3, 7} {
			for _, ledger := range []Ledger{nil, newMemoryLedger()} {
				n, lossy := newLossyNode(t, t.addr, ledger)
				lossy.replies.Store(lost)
				n.mustPush(t, newItems(10, 3, "")...)
				if lossy.replies.Load() > 0 {
					t.Fatal("no reply was lost")
				}
				lossy.replies.Store(lost)
				got := n.mustLease(t, "w", 4)
				if len(got) != 4 || got[0].Attempt != 1 {
					t.Fatalf("leased %+v", got)
				}
				sizes, err := n.Sizes(t.Context(), false, nil)
				if err != nil || sizes.Leased != 4 || sizes.Ready != 6 {
					t.Fatalf("%+v, %v", sizes, err)
				}
				lossy.replies.Store(lost)
				all(t, n, func(l item.Lease) item.Op { return item.Op{Kind: item.Ack, ID: l.ID, Attempt: l.Attempt} }, got, item.Done)
				n.stop()
			}
		}
	})
}

// gate holds back one call of a script, when it is closed, until it is opened.
type gate struct {
	closed atomic.Bool
	met    chan struct{} // a call has come
	open   chan struct{}
}

func (g *gate) DialHook(next redis.DialHook) redis.DialHook { return next }

func (g *gate) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

func (g *gate) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if cmd.Name() == "evalsha" && g.closed.CompareAndSwap(true, false) {
			g.met <- struct{}{}
			<-g.open
		}
		return next(ctx, cmd)
	}
}

// keep runs a queue that drains nothing and repairs nothing by itself.
func keep(q *Queue, ctx context.Context) { q.keeper.Run(ctx) } //nolint:revive // as a method expression has it

func newGatedNode(t testing.TB, addr string, ledger Ledger) (*node, *gate) {
	t.Helper()
	g := &gate{met: make(chan struct{}), open: make(chan struct{})}
	return newNodeThat(t, keep, addr, ledger, func(o *Options) { o.Client.AddHook(g) }), g
}

// leave has a step's caller go away while its call is under way, and lets the call go on.
func leave(t testing.TB, n *node, g *gate, s item.Step) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	g.closed.Store(true)
	gone := make(chan error)
	go func() {
		_, err := n.Step(ctx, s)
		gone <- err
	}()
	<-g.met
	cancel()
	if err := <-gone; !errors.Is(err, context.Canceled) {
		t.Fatalf("the step ended with %v", err)
	}
	g.open <- struct{}{}
}

// Peers repeat an ack that failed with the context of the first try, which is dead, so it never succeeds. Here a step
// whose context ended is repeated by its request id, and gets what it got.
func TestAStepWhoseContextEndedIsRepeated(t *testing.T) {
	t.Parallel()
	n, g := newGatedNode(t, testenv.Redis(t).Addr, newMemoryLedger())
	n.mustPush(t, newItems(3, 3, "i")...)
	s := item.Step{Caller: item.Caller{Worker: "w"}, RequestID: "first", Max: 2}
	leave(t, n, g, s)
	got := n.mustStep(t, s)
	if !slices.Equal(idsOf(got.Items), []string{"i1", "i2"}) || got.Items[0].Attempt != 1 {
		t.Fatalf("repeated: %+v", got)
	}
	s = item.Step{Caller: item.Caller{Worker: "w"}, RequestID: "second", Ops: []item.Op{{Kind: item.Ack, ID: "i1", Attempt: 1}, {Kind: item.Suspend, ID: "i2", Attempt: 1}}}
	leave(t, n, g, s)
	want := n.mustStep(t, s)
	if r := want.Results; r[0].Outcome != item.OK || r[0].State != item.Done || r[1].State != item.Suspended || r[1].Due.IsZero() {
		t.Fatalf("repeated: %+v", r)
	}
	if again := n.mustStep(t, s); !slices.Equal(again.Results, want.Results) {
		t.Errorf("%+v, then %+v", want.Results, again.Results)
	}
	for _, ops := range [][]item.Op{s.Ops[:1], {s.Ops[0], {Kind: item.Suspend, ID: "i3", Attempt: 1}}, nil} {
		other := s
		other.Ops = ops
		if _, err := n.Step(t.Context(), other); !isInvalid(err, "requestId") {
			t.Errorf("another request of the same id, %v: %v", ops, err)
		}
	}
}

// Items that are leased to a caller that has gone and named no request are given back at once, because no caller can
// ask for them.
func TestLeasesOfACallerThatIsGoneAreGivenBack(t *testing.T) {
	t.Parallel()
	n, g := newGatedNode(t, testenv.Redis(t).Addr, newMemoryLedger())
	n.mustPush(t, newItems(3, 3, "i")...)
	leave(t, n, g, item.Step{Caller: item.Caller{Worker: "w"}, Max: 2})
	var got []item.Lease
	testenv.Eventually(t, func() bool { // two were leased and given back
		moved, err := n.client.HGet(t.Context(), n.lines[0].keys.meta(), "moved").Int()
		return err == nil && moved == 4
	}, 10*time.Second)
	got = n.mustLease(t, "other", 3)
	if !slices.Equal(idsOf(got), []string{"i1", "i2", "i3"}) || got[0].Failures != 0 {
		t.Errorf("%+v", got)
	}
}

func isInvalid(err error, field string) bool {
	e, ok := errors.AsType[*item.InvalidError](err)
	return ok && e.Field == field
}
