package api_test

import (
	"context"
	"fmt"
	"net/http/httptest"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"tallyman/internal/testenv"
	"tallyman/sinks/inbox/page"
)

// at is a page of the fake inbox with the notice and a cursor that many µs later.
func at(n int64) page.Page {
	pg := onePage()
	score := bin().Score + n
	pg.Notices[0].Score, pg.Clock, pg.Unread = score, score, int(n)
	pg.Cursor = page.Cursor{Epoch: "1-a", Score: score, Changes: score}.Encode()
	pg.Version = fmt.Sprint("v", n)
	return pg
}

// Streams that ask the same share a poll, and nobody polls for streams that nothing is new for.
func TestStreamsThatAskTheSameShareAPoll(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.inbox.put(at(1))
	var open []*listener
	for range 10 {
		l := b.listen(t, streamPath)
		l.titles(t, 1)
		l.next(t, "unread")
		open = append(open, l)
	}
	testenv.Eventually(t, func() bool { return b.deps.inbox.Live() == 10 }, 20*time.Second)
	b.inbox.asked()
	b.inbox.put(at(2))
	for _, l := range open {
		l.titles(t, 1)
		if e := l.next(t, "unread"); e.data != `{"unread":2,"unreadMore":false}` {
			t.Errorf("%v", e)
		}
	}
	if polls := b.inbox.asked(); len(polls) != 1 {
		t.Errorf("%d polls for 10 streams that ask the same", len(polls))
	}
}

// waitingInbox is one whose polls wait from some moment on, as they do while the index is written back.
type waitingInbox struct {
	*fakeInbox

	away  atomic.Bool
	polls atomic.Int64 // that wait
}

func (w *waitingInbox) Poll(ctx context.Context, q page.Query) (page.Page, error) {
	if !w.away.Load() {
		return w.fakeInbox.Poll(ctx, q)
	}
	w.polls.Add(1)
	defer w.polls.Add(-1)
	<-ctx.Done()
	return page.Page{}, ctx.Err()
}

// When the last stream of a feed has gone, the feed polls no more.
func TestAPollEndsWithTheLastStream(t *testing.T) {
	t.Parallel()
	in := &waitingInbox{fakeInbox: newFakeInbox(at(1))}
	b := setup(t, func(d *parts) { d.Inbox = in })
	one, two := b.listen(t, streamPath), b.listen(t, streamPath)
	for _, l := range []*listener{one, two} {
		l.titles(t, 1)
		l.next(t, "unread")
	}
	testenv.Eventually(t, func() bool { return b.deps.inbox.Live() == 2 }, 20*time.Second)
	in.away.Store(true)
	in.put(at(2))
	testenv.Eventually(t, func() bool { return in.polls.Load() == 1 }, 20*time.Second)
	one.leave()
	testenv.Eventually(t, func() bool { return b.deps.inbox.Live() == 1 }, 20*time.Second)
	if in.polls.Load() != 1 {
		t.Error("the poll ended with the first of two streams")
	}
	two.leave()
	testenv.Eventually(t, func() bool { return in.polls.Load() == 0 }, 20*time.Second)
}

func TestStreamsTellOfChangesAndResets(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.inbox.put(at(1))
	l := b.listen(t, streamPath)
	l.titles(t, 1)
	l.next(t, "unread")
	pg := at(5)
	pg.Notices, pg.Unread = nil, 1
	pg.Changes = []page.Change{{ID: "n_a", Kind: page.Read, Score: bin().Score + 3}, {ID: "n_b", Kind: page.Acked, Score: bin().Score + 3}, {ID: "n_c", Kind: page.Read, Score: bin().Score + 4}}
	b.inbox.put(pg)
	a, bb, c := l.next(t, "change"), l.next(t, "change"), l.next(t, "change")
	if a.data != `{"id":"n_a","kind":"read"}` || bb.data != `{"id":"n_b","kind":"acked"}` || c.data != `{"id":"n_c","kind":"read"}` {
		t.Errorf("%v %v %v", a, bb, c)
	}
	if a.id != "" || bb.id == "" || c.id != pg.Cursor {
		t.Errorf("the ids are %q, %q, %q: those of one moment share the last one's", a.id, bb.id, c.id)
	}
	again := at(6)
	again.Reset, again.Reason, again.Missed = true, page.ResetTrimmed, 12
	b.inbox.put(again)
	reset, n := l.next(t, "reset"), l.next(t, "notice")
	if reset.data != `{"resetReason":"trimmed","missed":12}` {
		t.Errorf("the event reset has %s", reset.data)
	}
	from, err := page.DecodeCursor(reset.id)
	if err != nil || from.Score != again.Clock-1 || n.id != again.Cursor {
		t.Errorf("the window begins at %v (%v), its notice is at %q", from, err, n.id)
	}
}

// Over HTTP/2 one connection carries many streams.
func TestStreamsOverHTTP2(t *testing.T) {
	t.Parallel()
	in := newRealInbox(t, testenv.Redis(t).Addr)
	b := newBundle(func(d *parts) { d.Inbox = in })
	server := httptest.NewUnstartedServer(b.api)
	server.EnableHTTP2 = true
	server.StartTLS()
	t.Cleanup(server.Close)
	b.url, b.client = server.URL, server.Client()
	one, two := b.listen(t, streamPath), b.listen(t, streamPath)
	if one.resp.ProtoMajor != 2 {
		t.Fatal(one.resp.Proto)
	}
	one.next(t, "unread")
	two.next(t, "unread")
	in.deliver(t, "119240", []string{"user:1"}, "late")
	for _, l := range []*listener{one, two} {
		if titles, _ := l.titles(t, 1); !slices.Equal(titles, []string{"late"}) {
			t.Errorf("%v", titles)
		}
	}
	one.leave()
	testenv.Eventually(t, func() bool { return b.deps.streams.Open() == 1 }, 20*time.Second)
	in.deliver(t, "119240", []string{"user:1"}, "later")
	if titles, _ := two.titles(t, 1); !slices.Equal(titles, []string{"later"}) {
		t.Errorf("%v", titles)
	}
}
