package inbox

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"tallyman/internal/delivery"
	"tallyman/internal/testenv"
	"tallyman/sinks/inbox/page"
)

const (
	writers = 8
	polled  = 4 * time.Millisecond // between two polls, about
)

// TestCursorPollingLosesAndRepeatsNothing has 8 writers on two nodes deliver notices a random while after they were
// made, and readers that follow with cursors. Polling by creation time loses up to half of the notices here.
func TestCursorPollingLosesAndRepeatsNothing(t *testing.T) {
	t.Parallel()
	for name, delay := range map[string]time.Duration{"at once": 0, "up to 5 ms": 5 * time.Millisecond, "up to 50 ms": 50 * time.Millisecond} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, testenv.Redis(t).Addr)
			readers := w.follow(3, query("role:k", "user:1"))
			w.write(delay, nil)
			for i, r := range w.finish(readers) {
				if r.resets != 0 {
					t.Errorf("reader %d was reset %d times", i, r.resets)
				}
				w.expectAll(t, r)
			}
		})
	}
}

// With an inbox that keeps 20, slow readers miss some: never without a reset, and otherwise nothing.
func TestCursorPollingWhileInboxesAreTrimmed(t *testing.T) {
	t.Parallel()
	const most = 20
	w := newWorld(t, testenv.Redis(t).Addr, capOf(most))
	w.deliver(w.nodes[0], makeDeliveries(2*most, wh, "user:1")) // some of it is gone before the readers begin
	readers := w.follow(3, query("role:k", "user:1"))
	w.write(2*time.Millisecond, nil)
	resets := 0
	for _, r := range w.finish(readers) {
		w.expectNoGaps(t, r, most)
		resets += r.resets
	}
	t.Logf("%d resets", resets)
	if resets == 0 {
		t.Error("nothing was trimmed above a cursor; the test proves nothing")
	}
}

// When Redis loses everything in the middle, readers start again once, and then have everything.
func TestCursorPollingOverALoss(t *testing.T) {
	t.Parallel()
	r := testenv.Redis(t)
	w := newWorld(t, r.Addr)
	readers := w.follow(3, query("role:k", "user:1"))
	w.write(5*time.Millisecond, func() { flushAll(t, r) })
	for i, r := range w.finish(readers) {
		if r.resets == 0 {
			t.Errorf("reader %d noticed nothing", i)
		}
		w.expectAll(t, r)
	}
}

// world is two nodes on one Redis and one ledger, with the notices that were delivered through them.
type world struct {
	t      *testing.T
	nodes  []*node
	ledger *memoryLedger
	most   int // how many an inbox keeps
	stop   chan struct{}
	wg     sync.WaitGroup

	bySubscriber map[string][]seen
}

func newWorld(t *testing.T, addr string, change ...func(*Options)) *world {
	t.Helper()
	ledger := newMemoryLedger()
	return &world{
		t: t, ledger: ledger, stop: make(chan struct{}), bySubscriber: map[string][]seen{},
		nodes: []*node{newNode(t, addr, ledger, change...), newNode(t, addr, ledger, change...)},
	}
}

// write delivers everything; during is called when half of it is through.
func (w *world) write(delay time.Duration, during func()) {
	var wg, half sync.WaitGroup
	half.Add(writers)
	for i := range writers {
		wg.Go(func() {
			for n := 0; n < perWriter; {
				to := [][]string{{"user:1"}, {"role:k"}, {"role:k", "user:1"}, {"user:2"}}[rand.IntN(4)]
				batch := makeDeliveries(1+rand.IntN(4), wh, to...)
				pause(delay)
				w.deliver(w.nodes[i%2], batch)
				if n < perWriter/2 && n+len(batch) >= perWriter/2 {
					half.Done()
				}
				n += len(batch)
			}
		})
	}
	if during != nil {
		half.Wait()
		during()
	}
	wg.Wait()
}

// deliver repeats until the receipts are recorded, as the engine does.
func (w *world) deliver(n *node, batch []delivery.Delivery) {
	for range 100 {
		receipts, err := n.Deliver(w.t.Context(), wh, batch)
		if err == nil && w.ledger.record(batch, receipts) == nil {
			return
		}
		pause(10 * time.Millisecond)
	}
	w.t.Error("a batch could not be delivered")
}

func pause(most time.Duration) {
	if most > 0 {
		<-time.After(rand.N(most))
	}
}

// follower is a client. It keeps the notices that it got, and starts again when it gets a reset.
type follower struct {
	query  page.Query
	seen   []seen
	pages  []followed
	resets int
	done   bool // the last page had nothing more behind it
}

// poll reads one page and returns the place up to which it went.
func (f *follower) poll(w *world, n *node, from int64) int64 {
	pg, err := n.Poll(w.t.Context(), f.query)
	if err != nil {
		w.t.Errorf("poll: %v", err)
		f.done = true
		return from
	}
	var got []seen
	for _, v := range pg.Notices {
		got = append(got, seen{v.ID, v.Score})
	}
	if pg.Reset {
		f.resets++
		f.seen = nil
	}
	f.seen = append(f.seen, got...)
	// The first page has no cursor, so it starts the reading, as does a page with a reset. The notices that the inboxes
	// removed before do not count for it. The same holds for the pages that continue such a page.
	before := len(f.pages)
	p := followed{from: from, to: pg.Clock, anew: before == 0 || pg.Reset, more: pg.More, seen: got}
	if before > 0 && f.pages[before-1].anew && f.pages[before-1].more {
		p.anew = true
	}
	if pg.Reset {
		p.from = 0
	}
	f.pages = append(f.pages, p)
	f.query.After, f.done = pg.Cursor, !pg.More
	return pg.Clock
}

type seen struct {
	ID    string
	Score int64
}

// followed is a page: what came between two places in the order of delivery.
type followed struct {
	from, to int64 // 0 after a reset
	anew     bool  // it belongs to what was read without a cursor or after a reset
	more     bool
	seen     []seen
}

func (w *world) follow(n int, q page.Query) []*follower {
	var out []*follower
	for i := range n {
		f := &follower{query: q}
		f.query.Limit = []int{200, 7, 50}[i%3]
		out = append(out, f)
		w.wg.Go(func() {
			from := int64(0)
			for last := false; ; {
				from = f.poll(w, w.nodes[i%2], from)
				if last && f.done {
					return
				}
				select {
				case <-w.stop:
					last = true
				default:
					pause(polled * time.Duration(1+4*i))
				}
			}
		})
	}
	return out
}

// finish lets the readers read to the end and returns them.
func (w *world) finish(readers []*follower) []*follower {
	close(w.stop)
	w.wg.Wait()
	return readers
}

// wanted returns what the ledger has recorded for the query, in the order of delivery.
func (w *world) wanted(q page.Query) []seen {
	var out []seen
	for _, d := range w.ledger.delivered {
		if slices.ContainsFunc(d.Recipients, func(s string) bool { return slices.Contains(q.Subscribers, s) }) {
			out = append(out, seen{d.Notice.ID, d.Score})
		}
	}
	slices.SortFunc(out, byScore)
	return out
}

func (w *world) expectAll(t *testing.T, f *follower) {
	t.Helper()
	want := w.wanted(f.query)
	if diff := gocmp.Diff(want, f.seen); diff != "" {
		t.Errorf("of %d: -want +got\n%s", len(want), diff)
	}
	if len(want) < writers*perWriter/2 {
		t.Errorf("only %d were delivered", len(want))
	}
}

// expectNoGaps checks that each page has exactly the notices that were delivered between its two positions. After a
// reset, only notices may be missing that every inbox had to remove for newer ones.
func (w *world) expectNoGaps(t *testing.T, f *follower, most int) {
	t.Helper()
	all := w.wanted(f.query)
	for _, p := range f.pages {
		var want []seen
		for _, s := range all {
			if s.Score <= p.from || s.Score > p.to {
				continue
			}
			if !p.anew || slices.Contains(p.seen, s) || !w.outrun(s, f.query, most) {
				want = append(want, s)
			}
		}
		if diff := gocmp.Diff(want, p.seen); diff != "" {
			t.Errorf("from %d to %d, anew %v: -want +got\n%s", p.from, p.to, p.anew, diff)
		}
	}
}

// outrun tells whether all inboxes that got the notice had to let go of it by the end.
func (w *world) outrun(s seen, q page.Query, most int) bool {
	for _, to := range q.Subscribers {
		one := w.wantedBy(to)
		if at, got := slices.BinarySearchFunc(one, s, byScore); got && len(one)-at-1 < most {
			return false
		}
	}
	return true
}

func byScore(a, b seen) int { return cmp.Compare(a.Score, b.Score) }

// wantedBy is wanted for one subscriber, remembered.
func (w *world) wantedBy(subscriber string) []seen {
	if w.bySubscriber[subscriber] == nil {
		w.bySubscriber[subscriber] = w.wanted(query(subscriber))
	}
	return w.bySubscriber[subscriber]
}
