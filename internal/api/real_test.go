package api_test

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
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
		testenv.Eventually(t, func() bool { return b.api.Waiting() == 1 }, 5*time.Second)
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
		path := legacyPath + "?whId=W1&subscriberIdList=1,role:keeper&lastFetchTimeStamp="
		got := decodePack(t, b.get(t, path).body)
		if len(got.Notifications) != 450 || got.Unread != 450 || got.Warehouse != "W1" {
			t.Errorf("%d notices, %d unread in %s", len(got.Notifications), got.Unread, got.Warehouse)
		}
		if first := got.Notifications[0]; first.CreateTime < began || first.ExpireTime != 3600 {
			t.Errorf("createTime %d before %d, or expireTime %d", first.CreateTime, began, first.ExpireTime)
		}
		in.deliver(t, "W1", []string{"user:1"}, "new")
		next := decodePack(t, b.get(t, path+strconv.FormatInt(got.LastFetch, 10)).body)
		if n := len(next.Notifications); n == 0 || next.Notifications[n-1].CreateTime < got.LastFetch {
			t.Errorf("the new notice did not come: %+v", next)
		}
	})
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
