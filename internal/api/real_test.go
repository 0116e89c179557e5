package api_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"tallyman/internal/testenv"
)

// onBoth runs a test on a real Redis and on the in-process one.
func onBoth(t *testing.T, test func(t *testing.T, b *bundle, in *realInbox)) {
	t.Helper()
	for name, start := range map[string]func(t *testing.T) string{
		"redis":     func(t *testing.T) string { t.Helper(); return testenv.Redis(t).Addr },
		"miniredis": func(t *testing.T) string { t.Helper(); return testenv.Miniredis(t).Addr() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in := newRealInbox(t, start(t))
			test(t, setup(t, func(d *parts) { d.Inbox = in }), in)
		})
	}
}

func titles(from, to int) []string {
	out := []string{}
	for i := from; i < to; i++ {
		out = append(out, fmt.Sprintf("bin %03d", i))
	}
	return out
}

// TestAClientFollowsItsInbox polls with cursor and ETag through many pages, idles, waits, and goes on.
func TestAClientFollowsItsInbox(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, b *bundle, in *realInbox) {
		t.Helper()
		const path = "/api/v1/notices?warehouse=W1&subscriber=user:1&subscriber=role:keeper&limit=20"
		in.deliver(t, "W1", []string{"role:keeper", "user:1"}, titles(0, 60)...)
		in.deliver(t, "W1", []string{"role:keeper"}, titles(60, 120)...)
		in.deliver(t, "W1", []string{"user:2"}, "not ours")
		before := in.ledger.asked.Load()

		var got []string
		cursor, tag := "", ""
		for more := true; more; {
			a := b.get(t, path+"&after="+cursor, "If-None-Match", tag)
			pg := decodePage(t, a.body)
			for _, n := range pg.Notices {
				got = append(got, n.Title)
			}
			cursor, tag, more = pg.Cursor, a.header.Get("ETag"), pg.More
			if pg.Unread != 120 || pg.Reset {
				t.Errorf("unread %d, reset %v", pg.Unread, pg.Reset)
			}
		}
		if want := titles(0, 120); !slices.Equal(got, want) {
			t.Errorf("got %d notices: %v", len(got), got)
		}
		idle := path + "&after=" + cursor
		if a := b.get(t, idle, "If-None-Match", tag); a.status != http.StatusNotModified || a.header.Get("ETag") != tag {
			t.Errorf("an idle poll: status %d, ETag %s instead of %s", a.status, a.header.Get("ETag"), tag)
		}
		later := b.later(t, idle+"&wait=30s", "If-None-Match", tag)
		testenv.Eventually(t, func() bool { return b.api.Waiting() == 1 }, 60*time.Second)
		in.deliver(t, "W1", []string{"role:keeper"}, "one more")
		if a := <-later; a.status != http.StatusOK || len(decodePage(t, a.body).Notices) != 1 {
			t.Errorf("a waiting poll: status %d, %s", a.status, a.body)
		}
		if asked := in.ledger.asked.Load(); asked != before {
			t.Errorf("the polls asked the ledger %d times", asked-before)
		}
	})
}

func TestBadAndForeignCursors(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, b *bundle, in *realInbox) {
		t.Helper()
		const path = "/api/v1/notices?warehouse=W1&subscriber=user:1"
		in.deliver(t, "W1", []string{"user:1"}, "a")
		first := b.get(t, path)
		cursor := decodePage(t, first.body).Cursor
		for _, bad := range []string{"x", "0", cursor + "_", cursor[1:], "../../etc"} {
			a := b.get(t, path+"&after="+bad, "If-None-Match", first.header.Get("ETag"))
			if a.status != http.StatusBadRequest || a.asProblem(t).Code != "bad_cursor" {
				t.Errorf("cursor %q: %d %s", bad, a.status, a.body)
			}
		}
		a := b.get(t, path+"&subscriber=role:new&after="+cursor)
		if pg := decodePage(t, a.body); !pg.Reset || pg.Reason != "subscribers_changed" || pg.Missed != nil || len(pg.Notices) != 1 {
			t.Errorf("a cursor of other subscribers: %s", a.body)
		}
		in.deliver(t, "W2", []string{"user:1"}, "b")
		a = b.get(t, "/api/v1/notices?warehouse=W2&subscriber=user:1&after="+cursor)
		if pg := decodePage(t, a.body); !pg.Reset || pg.Reason != "foreign_cursor" {
			t.Errorf("a cursor of another warehouse: %s", a.body)
		}
	})
}

func TestLegacyOnARealInbox(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, b *bundle, in *realInbox) {
		t.Helper()
		began := time.Now().UnixMilli()
		in.deliver(t, "W1", []string{"role:keeper", "user:1"}, titles(0, 450)...)
		path := legacyPath + "?whId=W1&subscriberIdList=1,role:keeper&wait=20s&lastFetchTimeStamp="
		answered := b.get(t, path)
		got := decodePack(t, answered.body)
		if len(got.Notifications) != 450 || got.Unread != 450 || got.Warehouse != "W1" {
			t.Errorf("%d notices, %d unread in %s", len(got.Notifications), got.Unread, got.Warehouse)
		}
		if first := got.Notifications[0]; first.CreateTime < began || first.ExpireTime != 3600 {
			t.Errorf("createTime %d before %d, or expireTime %d", first.CreateTime, began, first.ExpireTime)
		}
		path += strconv.FormatInt(got.LastFetch, 10)
		if a := b.get(t, strings.Replace(path, "wait=20s&", "", 1), "If-None-Match", answered.header.Get("ETag")); a.status != http.StatusNotModified {
			t.Errorf("an idle poll: %d %s", a.status, a.body)
		}
		later := b.later(t, path, "If-None-Match", answered.header.Get("ETag"))
		testenv.Eventually(t, func() bool { return b.api.Waiting() == 1 }, 60*time.Second)
		in.deliver(t, "W1", []string{"user:1"}, "new")
		next := decodePack(t, (<-later).body)
		if n := len(next.Notifications); n != 1 || next.Notifications[0].CreateTime != next.LastFetch || next.LastFetch <= got.LastFetch {
			t.Errorf("the new notice did not come: %+v", next)
		}
	})
}

// TestLegacyThousandsOfOneMillisecond: the clock of the warehouse runs ahead, since a millisecond has 1,000 scores.
func TestLegacyThousandsOfOneMillisecond(t *testing.T) {
	t.Parallel()
	in := newRealInbox(t, testenv.Redis(t).Addr)
	b := setup(t, func(d *parts) { d.Inbox = in })
	old := &oldClient{b: b, warehouse: "W1", seen: map[string]int{}}
	for from := 0; from < 3000; from += 500 {
		in.deliver(t, "W1", []string{"user:1"}, titles(from, from+500)...)
		old.poll(t)
	}
	testenv.Eventually(t, func() bool { old.poll(t); return len(old.seen) == 3000 }, 60*time.Second)
	old.check(t)
}

// TestLegacyGivesEachNoticeOnceOverALossOfRedis has eight writers on two nodes. The clients keep the largest createTime alone. A notice whose
// delivery was under way when Redis lost everything may come twice (docs/adr/legacy-list.md), every other one comes once.
func TestLegacyGivesEachNoticeOnceOverALossOfRedis(t *testing.T) {
	t.Parallel()
	const writers, each, batch = 8, 625, 5
	addr := testenv.Redis(t).Addr
	first := newRealInbox(t, addr)
	nodes := []*realInbox{first, newNode(t, addr, first.ledger)}
	var clients []*oldClient
	for i, warehouse := range []string{"W1", "W2", "W1", "W2"} {
		b := setup(t, func(d *parts) { d.Inbox = nodes[i/2] })
		clients = append(clients, &oldClient{b: b, warehouse: warehouse, seen: map[string]int{}})
	}
	var delivered atomic.Int64
	var writing, polling sync.WaitGroup
	over := make(chan struct{})
	delivering := newUnderWay()
	for _, c := range clients {
		polling.Go(func() {
			for {
				select {
				case <-over:
					return
				case <-time.After(time.Duration(rand.IntN(3000)) * time.Microsecond):
					c.poll(t)
				}
			}
		})
	}
	for w := range writers {
		writing.Go(func() {
			for n := 0; n < each; n += batch {
				names := make([]string, batch)
				for i := range names {
					names[i] = fmt.Sprintf("writer %d notice %d", w, n+i)
				}
				delivering.begin(names)
				if err := nodes[w%2].tryDeliver(t.Context(), []string{"W1", "W2"}[w/2%2], []string{"user:1"}, names...); err != nil {
					t.Error(err)
					return
				}
				delivering.end(names)
				delivered.Add(batch)
				<-time.After(time.Duration(rand.IntN(4000)) * time.Microsecond)
			}
		})
	}
	testenv.Eventually(t, func() bool { return delivered.Load() > writers*each/2 }, 30*time.Second)
	twice := delivering.during(func() {
		if err := first.client.FlushAll(t.Context()).Err(); err != nil {
			t.Fatal(err)
		}
	})
	writing.Wait()
	close(over)
	polling.Wait()
	for _, c := range clients {
		testenv.Eventually(t, func() bool { c.poll(t); return len(c.seen) == writers*each/2 }, 20*time.Second)
		c.twice = twice
		c.check(t)
	}
}

// underWay knows which notices are being delivered, by title.
type underWay struct {
	mu    sync.Mutex
	now   map[string]bool
	noted map[string]bool // those that were on their way while something went on
	notes bool
}

func newUnderWay() *underWay {
	return &underWay{now: map[string]bool{}, noted: map[string]bool{}}
}

func (u *underWay) begin(titles []string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for _, title := range titles {
		u.now[title] = true
		if u.notes {
			u.noted[title] = true
		}
	}
}

func (u *underWay) end(titles []string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for _, title := range titles {
		delete(u.now, title)
	}
}

// during returns the notices that were on their way at some time during the event.
func (u *underWay) during(event func()) map[string]bool {
	u.note(true)
	event()
	u.note(false)
	return u.noted
}

func (u *underWay) note(on bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.notes = on
	maps.Copy(u.noted, u.now)
}

// oldClient shows whatever the legacy list gives it, and remembers the largest createTime.
type oldClient struct {
	b         *bundle
	warehouse string
	last      int64
	seen      map[string]int  // how often each notice came, by title
	twice     map[string]bool // titles that may come twice
}

func (c *oldClient) poll(t *testing.T) {
	t.Helper()
	a := c.b.get(t, legacyPath+"?whId="+c.warehouse+"&subscriberIdList=1&lastFetchTimeStamp="+strconv.FormatInt(c.last, 10))
	if a.status == http.StatusServiceUnavailable {
		return // Redis is being rebuilt
	}
	if a.status != http.StatusOK {
		t.Errorf("%d %s", a.status, a.body)
		return
	}
	for _, n := range decodePack(t, a.body).Notifications {
		c.seen[n.Title]++
		c.last = max(c.last, n.CreateTime)
	}
}

func (c *oldClient) check(t *testing.T) {
	t.Helper()
	for title, times := range c.seen {
		if times != 1 && (times != 2 || !c.twice[title]) {
			t.Errorf("%s came %d times in %s", title, times, c.warehouse)
		}
	}
}

func TestPollsWithoutRedis(t *testing.T) {
	t.Parallel()
	server := testenv.Redis(t)
	in := newRealInbox(t, server.Addr)
	b := setup(t, func(d *parts) { d.Inbox = in })
	in.deliver(t, "W1", []string{"user:1"}, "a")
	first := b.get(t, "/api/v1/notices?warehouse=W1&subscriber=user:1")
	server.Kill()
	a := b.get(t, "/api/v1/notices?warehouse=W1&subscriber=user:1", "If-None-Match", first.header.Get("ETag"))
	if a.status != http.StatusServiceUnavailable || a.asProblem(t).Code != "inbox_unavailable" || a.header.Get("Retry-After") == "" {
		t.Errorf("%d %s", a.status, a.body)
	}
}
