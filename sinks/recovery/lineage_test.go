package recovery

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"tallyman/internal/delivery"
	"tallyman/internal/testenv"
)

// fakeLineage is the lineage of a ledger, in memory.
type fakeLineage struct {
	mu          sync.Mutex
	mark        string
	known       map[string]bool
	incarnation int64
	down        error
}

func newLineage(mark string) *fakeLineage {
	return &fakeLineage{mark: mark, known: map[string]bool{mark: true}}
}

func (l *fakeLineage) Mark() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.mark
}

func (l *fakeLineage) HasMark(_ context.Context, mark string) (bool, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.known[mark], l.down
}

func (l *fakeLineage) Incarnation() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.incarnation
}

// grows has the ledger know another mark of this node.
func (l *fakeLineage) grows(mark string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.mark, l.known[mark] = mark, true
}

// restored has the ledger forget a mark. This node reconnects.
func (l *fakeLineage) restored(forget string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.known, forget)
	l.incarnation++
}

// tellers stores the calls of OnRestore.
type tellers struct {
	mu   sync.Mutex
	list []Restore
	fail error
}

func (l *tellers) told() []Restore {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.list
}

func (l *tellers) on(_ context.Context, r Restore) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.fail != nil {
		return l.fail
	}
	l.list = append(l.list, r)
	return nil
}

func within(l *fakeLineage, told *tellers) func(*Options) {
	return func(o *Options) { o.Lineage, o.OnRestore = l, told.on }
}

// awaitMark waits until Redis remembers the mark.
func (n *node) awaitMark(t testing.TB, mark string) {
	t.Helper()
	testenv.Eventually(t, func() bool {
		got, _ := n.client.HGet(t.Context(), "epoch", markField).Result()
		return got == mark
	}, 20*time.Second)
}

func TestRestoreUnderARunningNode(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t site) {
		record, lineage, told := &epochs{}, newLineage("1-a"), &tellers{}
		n := running(t, t.addr, with(record), within(lineage, told))
		first := n.serves(t)
		n.awaitMark(t, "1-a")
		lineage.grows("2-a")
		n.awaitMark(t, "2-a")
		if !n.Is(first) || n.things.withheld.Load() != 0 {
			t.Error("an epoch ended although nothing was lost")
		}

		lineage.restored("2-a")
		testenv.Eventually(t, func() bool { return !n.Is(first) }, 20*time.Second)
		second := n.serves(t)
		list := told.told()
		if len(list) != 1 || n.things.withheld.Load() != 1 || EpochNumber(second.Epoch) <= EpochNumber(first.Epoch) {
			t.Fatalf("told of %+v, withheld %d times, epoch %s after %s", list, n.things.withheld.Load(), second.Epoch, first.Epoch)
		}
		if want := (Restore{"things", first.Epoch, "the ledger does not know the mark 2-a", 2, 3}); list[0] != want {
			t.Errorf("told of %+v, want %+v", list[0], want)
		}
	})
}

// A node that starts compares before it serves, even where the restored ledger and Redis agree about the epoch.
func TestRestoreBeforeTheStart(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t site) {
		record, lineage := &epochs{}, newLineage("1-a")
		n := newNode(t, t.addr, with(record), within(lineage, &tellers{}))
		if err := n.look(t.Context()); err != nil {
			t.Fatal(err)
		}
		first := n.serves(t)
		expect := func(n *node, want Outlook) {
			t.Helper()
			if got, err := n.Outlook(t.Context()); err != nil || got != want {
				t.Errorf("the outlook is %+v, %v; want %+v", got, err, want)
			}
		}
		expect(n, Outlook{Epoch: first.Epoch})

		later, told := newLineage("1-b"), &tellers{}
		other := newNode(t, t.addr, with(record), within(later, told))
		const cause = "the ledger does not know the mark 1-a"
		expect(other, Outlook{Epoch: first.Epoch, Restored: cause, Rebuilt: cause})
		if err := other.look(t.Context()); err != nil {
			t.Fatal(err)
		}
		if second := other.serves(t); second.Epoch == first.Epoch || len(told.told()) != 1 {
			t.Errorf("epoch %s after %s, told of %+v", second.Epoch, first.Epoch, told.told())
		}
		expect(other, Outlook{Epoch: other.serves(t).Epoch})
		// A third one finds nothing any more.
		third := newNode(t, t.addr, with(record), within(later, told))
		if err := third.look(t.Context()); err != nil {
			t.Fatal(err)
		}
		if other.serves(t).Epoch != third.serves(t).Epoch || len(told.told()) != 1 {
			t.Errorf("epoch %s, told of %+v", third.serves(t).Epoch, told.told())
		}
	})
}

// If the mark is known, the contents are compared as well: a standby that took over may lack only the last moment.
func TestContentsThatKnowMore(t *testing.T) {
	t.Parallel()
	m := testenv.Miniredis(t)
	record, lineage, told := &epochs{}, newLineage("1-a"), &tellers{}
	n := running(t, m.Addr(), with(record), within(lineage, told))
	first := n.serves(t)
	cause := "the ledger does not have thing 7"
	n.things.ahead.Store(&cause)
	lineage.restored("")
	testenv.Eventually(t, func() bool { return len(told.told()) > 0 }, 20*time.Second)
	n.things.ahead.Store(nil)
	testenv.Eventually(t, func() bool { return n.serves(t).Epoch != first.Epoch }, 20*time.Second)
	if r := told.told()[0]; r.Cause != cause {
		t.Errorf("told of %+v", r)
	}
}

// If the restore cannot be recorded, or the node dies, the next node withholds again. Once it is recorded, no node
// does.
func TestRestoreIsToldOnce(t *testing.T) {
	t.Parallel()
	m := testenv.Miniredis(t)
	record, lineage := &epochs{}, newLineage("1-a")
	n := newNode(t, m.Addr(), with(record), within(lineage, &tellers{}))
	if err := n.look(t.Context()); err != nil {
		t.Fatal(err)
	}
	broken := errors.New("the disk is full")
	later, told := newLineage("1-b"), &tellers{fail: broken}
	second := newNode(t, m.Addr(), with(record), within(later, told))
	if err := second.look(t.Context()); !errors.Is(err, broken) {
		t.Fatalf("the look says %v", err)
	}
	if found, err := second.ask(t.Context()); err != nil || found.mark != "1-a" {
		t.Errorf("Redis remembers %q, %v", found.mark, err)
	}
	told.fail = nil
	second.things.build = func(context.Context) error { return broken }
	if err := second.look(t.Context()); !errors.Is(err, broken) || len(told.told()) != 1 {
		t.Fatalf("the look says %v; told of %+v", err, told.told())
	}
	second.things.build = nil
	if err := second.look(t.Context()); err != nil || len(told.told()) != 1 || second.things.withheld.Load() != 2 {
		t.Errorf("the look says %v; told of %+v, withheld %d times", err, told.told(), second.things.withheld.Load())
	}
}

// Code that gives data of the ledger to Redis waits for the comparison, and learns that the generation has ended.
func TestComparedWaits(t *testing.T) {
	t.Parallel()
	m := testenv.Miniredis(t)
	lineage := newLineage("1-a")
	n := newNode(t, m.Addr(), with(&epochs{}), within(lineage, &tellers{}))
	if err := n.look(t.Context()); err != nil {
		t.Fatal(err)
	}
	g := n.serves(t)
	if err := n.Compared(t.Context(), g); err != nil {
		t.Fatal(err)
	}
	lineage.restored("1-a")
	short, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if err := n.Compared(short, g); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("nobody has compared, and the answer is %v", err)
	}
	lineage.down = delivery.ErrNotFound
	if err := n.look(t.Context()); err != nil || !n.Is(g) {
		t.Errorf("a ledger that is away ended the generation: %v", err)
	}
	lineage.down = nil
	if err := n.look(t.Context()); err != nil || n.Is(g) {
		t.Errorf("the generation lives on: %v", err)
	}
	if err := n.Compared(t.Context(), g); !errors.Is(err, ErrLost) {
		t.Errorf("the answer is %v", err)
	}
}
