package queue

import (
	"context"
	"errors"
	"io"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/redis/go-redis/v9"

	"tallyman/internal/item"
	"tallyman/internal/ledger"
	"tallyman/internal/testenv"
)

// worked loses the reply of a script, and has something done before the call is repeated.
type worked struct {
	armed   atomic.Bool
	between func()
}

func (w *worked) DialHook(next redis.DialHook) redis.DialHook { return next }

func (w *worked) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

func (w *worked) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		err := next(ctx, cmd)
		if err == nil && cmd.Name() == "evalsha" && w.armed.CompareAndSwap(true, false) {
			w.between()
			cmd.SetErr(io.EOF)
			return io.EOF
		}
		return err
	}
}

// A push whose reply was lost is repeated. An item that workers have finished in between must not come back, neither as
// an item nor as a duplicate of itself.
func TestARepeatedPushBringsNothingBack(t *testing.T) {
	t.Parallel()
	onAll(t, func(t site) {
		for _, recorded := range []bool{false, true} {
			for _, window := range []Window{{}, {Day: true}} {
				repeatedPush(t, recorded, window)
			}
		}
	})
}

func repeatedPush(t site, recorded bool, window Window) {
	t.Helper()
	var ledger Ledger
	if recorded {
		ledger = newMemoryLedger()
	}
	w := &worked{}
	n := newNodeThat(t, keep, t.addr, ledger, fresh, func(o *Options) {
		o.Client.AddHook(w)
		o.Dedupe = window
	})
	defer n.stop()
	other := newNodeThat(t, keep, t.addr, ledger, func(o *Options) { o.Prefix, o.Dedupe = n.o.Prefix, window })
	defer other.stop()
	n.mustPush(t, newItems(1, 1, "")...) // the scripts are known from now on
	w.between = func() { other.finishFirst(t) }
	w.armed.Store(true)
	ids := n.mustPush(t, item.New{Priority: 5, Payload: []byte("{}"), DedupeKey: "k"})
	if w.armed.Load() {
		t.Fatal("no reply was lost")
	}
	if got := n.mustLease(t, "late", 2); len(got) != 1 || got[0].ID == ids[0] {
		t.Errorf("recorded %t, window %+v: leased %+v after %s was done", recorded, window, got, ids[0])
	}
	if l, ok := ledger.(*memoryLedger); ok && l.state(ids[0]) == item.Refused {
		t.Errorf("window %+v: what was done is refused", window)
	}
}

// stubbornLedger refuses nothing at the first time.
type stubbornLedger struct {
	*memoryLedger

	between func()
	once    sync.Once
}

func (l *stubbornLedger) RefuseItems(ctx context.Context, queue string, refused []item.Refusal) error {
	failed := false
	l.once.Do(func() {
		l.between()
		failed = true
	})
	if failed {
		return errors.New("no connection")
	}
	return l.memoryLedger.RefuseItems(ctx, queue, refused)
}

// A push that fails behind Redis is tried again: what it has put in may have been finished by then.
func TestAPushThatIsTriedAgainBringsNothingBack(t *testing.T) {
	t.Parallel()
	addr := testenv.Redis(t).Addr
	ledger := &stubbornLedger{memoryLedger: newMemoryLedger()}
	n := newNode(t, addr, ledger)
	n.mustPush(t, item.New{ID: "first", Priority: 1, Payload: []byte("1"), DedupeKey: "k"})
	ledger.between = func() { n.finishFirst(t) }
	got, err := n.Push(t.Context(), false, "tester", []item.New{
		{ID: "new", Payload: []byte("1"), Priority: 5}, {ID: "again", Payload: []byte("1"), DedupeKey: "k"},
	})
	want := []item.PushResult{{ID: "new", Outcome: item.Pushed}, {ID: "again", Outcome: item.Duplicate, Of: "first"}}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("%+v, %v", got, err)
	}
	if got := n.order(t); !slices.Equal(got, []string{"first"}) {
		t.Errorf("%v are in the queue", got)
	}
	if s := ledger.state("again"); s != item.Refused {
		t.Errorf("the duplicate is %s", s)
	}
}

// So may have been what it had put in before Redis was lost.
func TestAPushThatMetALossBringsNothingBack(t *testing.T) {
	t.Parallel()
	redis := testenv.Redis(t)
	ledger := newMemoryLedger()
	w := &worked{}
	n := newNodeThat(t, keep, redis.Addr, ledger, func(o *Options) { o.Client.AddHook(w) })
	other := newNode(t, redis.Addr, ledger)
	n.mustPush(t, newItems(1, 1, "old")...)
	w.between = func() {
		other.finishFirst(t)
		inLedger(t, other)
		if err := redis.Client(t).FlushAll(t.Context()).Err(); err != nil {
			t.Error(err)
		}
	}
	w.armed.Store(true)
	n.mustPush(t, item.New{ID: "new", Priority: 5, Payload: []byte("1")})
	if got := n.order(t); !slices.Equal(got, []string{"old1"}) {
		t.Errorf("%v are in the queue", got)
	}
}

// finishFirst leases and finishes the first ready item.
func (n *node) finishFirst(t testing.TB) {
	t.Helper()
	got := n.mustLease(t, "w", 1)
	n.mustDo(t, item.Op{Kind: item.Ack, ID: got[0].ID, Attempt: got[0].Attempt}, item.OK)
}

// lossyLedger has Redis lose everything after a push is recorded and before it is in.
type lossyLedger struct {
	Ledger

	lose func()
	once sync.Once
}

func (l *lossyLedger) PushItems(ctx context.Context, queue string, items []item.Record) ([]item.PushAnswer, error) {
	answers, err := l.Ledger.PushItems(ctx, queue, items)
	if items[0].ID == "again" {
		l.once.Do(l.lose)
	}
	return answers, err
}

// A rebuild refuses a recorded item if another item has its dedupe key. The push that recorded the item then returns
// that it is a duplicate, and the item follows its finding.
func TestAPushThatARebuildRefusesIsADuplicate(t *testing.T) {
	t.Parallel()
	onBothLedgers(t, func(t *testing.T, l ledger.Ledger) {
		t.Helper()
		for _, what := range []string{"push", "notice"} {
			lossy := &lossyLedger{Ledger: l}
			n := newNode(t, testenv.Redis(t).Addr, lossy, func(o *Options) { o.Name = what })
			lossy.lose = func() {
				if err := n.client.FlushAll(t.Context()).Err(); err != nil {
					t.Error(err)
				}
			}
			first, again := repeats("A", 0, 3, ""), repeats("A", 1, 5, "")
			first.ID, again.ID = "first", "again"
			if what == "notice" {
				n.mustTake(t, first)
				n.mustTake(t, again)
				if got := n.says(t, "first"); got != "ready 5/ A for the time 1" {
					t.Errorf("the item says %q", got)
				}
				continue
			}
			n.mustPush(t, item.New{ID: "first", Payload: []byte("1"), DedupeKey: "k"})
			got, err := n.Push(t.Context(), false, "tester", []item.New{{ID: "again", Payload: []byte("1"), DedupeKey: "k"}})
			if want := []item.PushResult{{ID: "again", Outcome: item.Duplicate, Of: "first"}}; err != nil || !slices.Equal(got, want) {
				t.Errorf("%+v, %v", got, err)
			}
		}
	})
}
