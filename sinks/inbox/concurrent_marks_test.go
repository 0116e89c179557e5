package inbox

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tallyman/internal/testenv"
	"tallyman/sinks/inbox/page"
)

// TestWindowsFollowEachOther has writers on two nodes, and two users with three windows each. The windows read, ack and
// read all while they poll. In the end each window must show the true marks, and no window may get the same change
// twice.
func TestWindowsFollowEachOther(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		during func(*testing.T, *testenv.RedisServer)
		most   int
	}{
		"undisturbed": {nil, DefaultCap}, "over a loss": {flushAll, DefaultCap},
		"while inboxes are trimmed": {nil, 60}, "over a loss, while inboxes are trimmed": {flushAll, 60},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := testenv.Redis(t)
			w := newWorld(t, r.Addr, capOf(c.most))
			w.most = c.most
			var windows []*pane
			for _, user := range []string{"user:1", "user:2"} {
				for i := range 3 {
					p := &pane{user: user, node: w.nodes[i%2], query: query("role:k", user), known: map[string]state{}}
					p.query.Limit = []int{200, 7, 50}[i]
					windows = append(windows, p)
				}
			}
			for _, p := range windows {
				w.wg.Go(func() { p.live(w) })
			}
			var middle func()
			if c.during != nil {
				middle = func() { c.during(t, r) }
			}
			w.write(5*time.Millisecond, middle)
			close(w.stop)
			w.wg.Wait()
			for i, p := range windows {
				p.expectTruth(t, w, i)
			}
		})
	}
}

// state is what became of a notice.
type state struct{ read, acked bool }

// pane is one window of a user.
type pane struct {
	user  string
	node  *node
	query page.Query
	known map[string]state
	pages int
	last  page.Page
}

// live polls, and now and then marks something that it shows, until the world stops; then it polls to the end.
func (p *pane) live(w *world) {
	for stopping := false; ; {
		p.poll(w)
		select {
		case <-w.stop:
			if stopping && !p.last.More {
				return
			}
			stopping = true
			continue
		default:
		}
		switch rand.IntN(6) {
		case 0, 1:
			for id := range p.known {
				p.mark(w, id, rand.IntN(2) == 0)
				break
			}
		case 2:
			if p.pages%5 == 0 {
				p.readAll(w)
			}
		}
		pause(polled)
	}
}

// poll adds a page to the window, and complains about changes that the window already had.
func (p *pane) poll(w *world) {
	pg, err := p.node.Poll(w.t.Context(), p.query)
	if err != nil {
		w.t.Errorf("poll: %v", err)
		return
	}
	p.pages++
	if pg.Reset {
		p.known = map[string]state{}
	}
	for _, c := range pg.Changes {
		was, ok := p.known[c.ID]
		if !ok || was.acked || c.Kind == page.Read && was.read {
			w.t.Errorf("%s is told that %s is %s, and knew %v %+v", p.user, c.ID, c.Kind, ok, was)
		}
		p.known[c.ID] = state{true, c.Kind == page.Acked}
	}
	for _, v := range pg.Notices {
		if _, ok := p.known[v.ID]; ok {
			w.t.Errorf("%s got %s twice", p.user, v.ID)
		}
		p.known[v.ID] = state{v.Read, v.Acked}
	}
	p.query.After, p.last = pg.Cursor, pg
}

// quiet is a t for marks that a loss of Redis may cut off: what the ledger has comes back from there.
type quiet struct{ t *testing.T }

func (q quiet) Helper() {}

func (q quiet) Fatal(args ...any) { q.t.Log(args...) }

func (p *pane) mark(w *world, id string, acked bool) {
	p.node.mark(quiet{w.t}, time.Now(), p.user, acked, id)
}

// readAll reads the notices of this inbox, of that inbox, or of both. If a notice was read in one inbox only, and the
// cap removes it there but not from the other, it is unread again. So while inboxes are trimmed, readAll takes both.
func (p *pane) readAll(w *world) {
	inboxes := [][]string{{"role:k", p.user}, {"role:k"}, {p.user}}
	if w.most < DefaultCap {
		inboxes = inboxes[:1]
	}
	if p.query.After != "" {
		p.node.readAll(quiet{w.t}, time.Now(), p.user, p.query.After, inboxes[rand.IntN(len(inboxes))]...)
	}
}

// expectTruth lets the marks in that a loss cut off, and compares the window with what the ledger says.
func (p *pane) expectTruth(t *testing.T, w *world, number int) {
	t.Helper()
	if err := p.node.catchUp(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
	for p.poll(w); p.last.More; {
		p.poll(w)
	}
	want, unread := w.truth(p.user, p.query)
	maps.DeleteFunc(p.known, func(id string, _ state) bool { // what the cap took out changes no more
		_, held := want[id]
		return !held
	})
	if diff := cmp.Diff(want, p.known, cmp.AllowUnexported(state{})); diff != "" {
		t.Errorf("window %d of %s after %d pages: -want +got\n%s", number, p.user, p.pages, diff)
	}
	if p.last.Unread != min(unread, maxUnread) || p.last.UnreadMore != (unread > maxUnread) {
		t.Errorf("window %d of %s: %d unread, more %v, want %d", number, p.user, p.last.Unread, p.last.UnreadMore, unread)
	}
	if len(want) < min(writers*perWriter/2, w.most) || unread == len(want) && w.most == DefaultCap {
		t.Errorf("%d notices, %d of them unread", len(want), unread)
	}
}

// truth is what the ledger has for a user's query.
func (w *world) truth(user string, q page.Query) (map[string]state, int) {
	out := map[string]state{}
	inboxes := map[string]map[string]bool{}
	for _, s := range q.Subscribers {
		inboxes[s] = map[string]bool{}
		list := w.wanted(query(s))
		for _, one := range list {
			inboxes[s][one.ID] = true
		}
		for _, one := range list[max(0, len(list)-w.most):] {
			out[one.ID] = state{}
		}
	}
	for _, m := range w.ledger.marks {
		if was, ok := out[m.Notice]; ok && m.User == user {
			out[m.Notice] = state{true, was.acked || m.Acked}
		}
	}
	for _, r := range w.ledger.reads {
		for _, s := range w.wanted(q) {
			if was, ok := out[s.ID]; ok && r.User == user && s.Score <= r.Score && inboxes[r.Inbox][s.ID] {
				out[s.ID] = state{true, was.acked}
			}
		}
	}
	unread := 0
	for _, s := range out {
		if !s.read {
			unread++
		}
	}
	return out, unread
}

// A node may record a mark and then die, or lose Redis, before it sends the mark to Redis. The mark still reaches the
// windows.
func TestMarksCatchUp(t *testing.T) {
	t.Parallel()
	onAll(t, func(t site) {
		n := newNode(t, t.addr, newMemoryLedger())
		batch := makeDeliveries(4, wh, "user:1", "role:k")
		n.deliver(t, batch)
		first := n.poll(t, query("user:1"))
		at := time.Now()
		n.ledger.mark(markOf(batch[0].Notice.ID, false, at), markOf(batch[1].Notice.ID, true, at))
		n.ledger.readAll(watermarkOf("user:1", first.Notices[2].Score, at))
		for range 2 { // once more changes nothing
			if err := n.catchUp(t.Context(), 0); err != nil {
				t.Fatal(err)
			}
		}
		pg := n.poll(t, after(query("user:1"), first.Cursor))
		want := []string{batch[0].Notice.ID + " read", batch[1].Notice.ID + " acked", batch[2].Notice.ID + " read"}
		got := []string{}
		for _, c := range pg.Changes {
			got = append(got, fmt.Sprint(c.ID, " ", c.Kind))
		}
		if diff := cmp.Diff(want, got); diff != "" || pg.Unread != 1 {
			t.Errorf("%d unread, -want +got\n%s", pg.Unread, diff)
		}
		if pg := n.poll(t, after(query("user:1"), pg.Cursor)); len(pg.Changes) != 0 {
			t.Errorf("told again: %v", pg.Changes)
		}
	})
}
