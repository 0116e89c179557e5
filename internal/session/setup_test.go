package session_test

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"tallyman/engine/enginetest"
	"tallyman/internal/ledger"
	"tallyman/internal/session"
)

const lease = 4 * time.Second

var errAway = errors.New("the ledger is away")

// cluster is nodes that share a ledger, in a bubble of time. The ledger's clock can jump.
type cluster struct {
	*testing.T
	ledger *enginetest.Ledger
	skew   atomic.Int64
}

func inBubble(t *testing.T, test func(c *cluster)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { test(newCluster(t)) })
}

func newCluster(t *testing.T) *cluster {
	t.Helper()
	c := &cluster{T: t, ledger: enginetest.NewLedger()}
	c.ledger.TimeNow = func() time.Time { return time.Now().Add(time.Duration(c.skew.Load())) }
	return c
}

// jump sets the ledger's clock.
func (c *cluster) jump(by time.Duration) { c.skew.Add(int64(by)) }

// way is a node's way to the ledger.
type way struct {
	*enginetest.Ledger

	mu    sync.Mutex
	fault error         // what the node is told; nil = the ledger answers
	hangs bool          // Nothing is answered.
	still chan struct{} // Nothing happens until the channel is closed, as on a machine that stands still. nil = the machine does not.
}

func (w *way) set(fault error, hangs bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.fault, w.hangs = fault, hangs
}

// stand has the way stand still until the returned function is called.
func (w *way) stand() (goOn func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.still = make(chan struct{})
	return sync.OnceFunc(func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		close(w.still)
		w.still = nil
	})
}

// pass lets a call through, or answers it.
func (w *way) pass(ctx context.Context) error {
	w.mu.Lock()
	fault, hangs, still := w.fault, w.hangs, w.still
	w.mu.Unlock()
	if still != nil {
		<-still
	}
	if hangs {
		<-ctx.Done()
		return ctx.Err()
	}
	return fault
}

func (w *way) BeginSession(ctx context.Context, n ledger.Node, lease time.Duration) error {
	if err := w.pass(ctx); err != nil {
		return err
	}
	return w.Ledger.BeginSession(ctx, n, lease)
}

func (w *way) RenewSession(ctx context.Context, id, rules string, lease time.Duration) error {
	if err := w.pass(ctx); err != nil {
		return err
	}
	return w.Ledger.RenewSession(ctx, id, rules, lease)
}

func (w *way) EndSessions(ctx context.Context, ids []string) error {
	if err := w.pass(ctx); err != nil {
		return err
	}
	return w.Ledger.EndSessions(ctx, ids)
}

func (w *way) BurySessions(ctx context.Context, self string) ([]ledger.Node, error) {
	if err := w.pass(ctx); err != nil {
		return nil, err
	}
	return w.Ledger.BurySessions(ctx, self)
}

func (w *way) Nodes(ctx context.Context) ([]ledger.Node, error) {
	if err := w.pass(ctx); err != nil {
		return nil, err
	}
	return w.Ledger.Nodes(ctx)
}

// node is a keeper that runs.
type node struct {
	*session.Keeper
	way     *way
	changed atomic.Int64 // how often there may have been something to take over
	events  sync.Map     // session.Event to *atomic.Int64
	stop    func()
}

func (n *node) count(e session.Event) int64 {
	c, _ := n.events.LoadOrStore(e, new(atomic.Int64))
	return c.(*atomic.Int64).Load() //nolint:forcetypeassert // nothing else is stored
}

func (c *cluster) start(name string, change ...func(*session.Options)) *node {
	c.Helper()
	n := &node{way: &way{Ledger: c.ledger}}
	o := session.Options{
		Ledger: n.way, Node: name, Version: "1.2", Lease: lease, Logger: slog.New(slog.NewTextHandler(c.Output(), nil)),
		Observe: func(e session.Event) {
			count, _ := n.events.LoadOrStore(e, new(atomic.Int64))
			count.(*atomic.Int64).Add(1) //nolint:forcetypeassert // nothing else is stored
		},
	}
	for _, f := range change {
		f(&o)
	}
	n.Keeper = session.New(o)
	if err := n.Begin(c.Context()); err != nil {
		c.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		n.Run(ctx, func() { n.changed.Add(1) })
		close(ended)
	}()
	n.stop = sync.OnceFunc(func() {
		cancel()
		<-ended
	})
	c.Cleanup(n.stop)
	return n
}

// wait lets so much time pass, and whatever happens in it.
func wait(d time.Duration) {
	time.Sleep(d) //nolint:forbidigo // in a synctest bubble
	synctest.Wait()
}

// sessions are the names of the nodes that the ledger knows.
func (c *cluster) sessions() (names []string) {
	c.Helper()
	list, err := c.ledger.Nodes(c.Context())
	if err != nil {
		c.Fatal(err)
	}
	for i := range list {
		names = append(names, list[i].Name)
	}
	return names
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
