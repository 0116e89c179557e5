package api_test

import (
	"context"
	"encoding/xml"
	"fmt"
	"net/http"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tallyman/internal/notice"
	"tallyman/sinks/inbox/page"
)

const legacyPath = "/api/v1/legacy/listNotifications"

func TestLegacyForms(t *testing.T) {
	t.Parallel()
	b := setup(t)
	path := legacyPath + "?whId=119240&subscriberIdList=1,2,%20role:keeper,&lastFetchTimeStamp=1780272600000"
	golden(t, "legacy-empty.xml", b.get(t, path).body)
	pg := onePage()
	pg.Unread = 1
	b.inbox.put(pg)
	got := b.get(t, path, "Accept", "application/json")
	if got.status != http.StatusOK || got.header.Get("Content-Type") != "application/xml; charset=utf-8" {
		t.Errorf("status %d, type %q", got.status, got.header.Get("Content-Type"))
	}
	golden(t, "legacy.xml", got.body)
	want := page.Query{
		Warehouse: "119240", Subscribers: []string{"role:keeper", "user:1", "user:2"}, Since: 1780272600000, Limit: page.MaxLimit, Plain: true,
	}
	for _, q := range b.inbox.asked() {
		if diff := cmp.Diff(want, q); diff != "" {
			t.Error(diff)
		}
	}
}

func TestLegacyTimesAreThoseOfDelivery(t *testing.T) {
	t.Parallel()
	b := setup(t)
	pg := onePage()
	pg.Notices[0].Score += (90 * time.Minute).Microseconds()
	pg.Clock = pg.Notices[0].Score + 1500
	b.inbox.put(pg)
	got := decodePack(t, b.get(t, legacyPath+"?whId=119240&subscriberIdList=1").body)
	created := bin().CreatedAt.UnixMilli()
	n := got.Notifications[0]
	if n.CreateTime != created+90*60_000 || n.ExpireTime != 86400-90*60 {
		t.Errorf("createTime %d, expireTime %d", n.CreateTime, n.ExpireTime)
	}
	if got.LastFetch != created+90*60_000+1 {
		t.Errorf("lastFetchTimeStamp %d", got.LastFetch)
	}
}

// TestLegacyLosesNothing polls a long inbox, many of one millisecond, as an old client does.
func TestLegacyLosesNothing(t *testing.T) {
	t.Parallel()
	const total, perMS = 5_000, 900
	inbox := longInbox(total, perMS)
	b := setup(t, func(d *parts) { d.Inbox = inbox })
	seen := map[string]bool{}
	since := int64(1)
	for polls := 0; len(seen) < total; polls++ {
		if polls > 10 {
			t.Fatalf("%d of %d after %d polls", len(seen), total, polls)
		}
		got := decodePack(t, b.get(t, legacyPath+"?whId=1&subscriberIdList=1&lastFetchTimeStamp="+strconv.FormatInt(since, 10)).body)
		for _, n := range got.Notifications {
			seen[n.ID] = true
		}
		since = got.LastFetch
	}
}

func TestLegacyStopsWhereTheIndexBeginsAnew(t *testing.T) {
	t.Parallel()
	inbox := longInbox(500, 100)
	inbox.resetAfter = 1
	b := setup(t, func(d *parts) { d.Inbox = inbox })
	got := decodePack(t, b.get(t, legacyPath+"?whId=1&subscriberIdList=1&lastFetchTimeStamp=1").body)
	if len(got.Notifications) != page.MaxLimit || got.LastFetch != scoreOf(page.MaxLimit, 100)/1000 {
		t.Errorf("%d notices up to %d", len(got.Notifications), got.LastFetch)
	}
}

// scriptedInbox pages over notices with ascending scores.
type scriptedInbox struct {
	scores     []int64
	polls      int
	resetAfter int // polls with a cursor from then on are answered with a reset
}

func longInbox(total, perMS int) *scriptedInbox {
	s := &scriptedInbox{}
	for i := range total {
		s.scores = append(s.scores, scoreOf(i+1, perMS))
	}
	return s
}

func scoreOf(nth, perMS int) int64 {
	return 1_780_272_600_000_000 + int64((nth-1)/perMS)*1000 + int64((nth-1)%perMS)
}

func (s *scriptedInbox) Version(context.Context, page.Query) (string, error) { return "v", nil }

func (s *scriptedInbox) Wait(ctx context.Context, _ page.Query, _ string) error {
	<-ctx.Done()
	return ctx.Err()
}

func (s *scriptedInbox) Watch(string, []string, func()) func() { return func() {} }

func (s *scriptedInbox) Poll(_ context.Context, q page.Query) (page.Page, error) {
	s.polls++
	from := q.Since * 1000
	reset := false
	if q.After != "" {
		after, err := strconv.ParseInt(q.After, 10, 64)
		if err != nil {
			return page.Page{}, page.ErrBadCursor
		}
		from, reset = after+1, s.resetAfter > 0 && s.polls > s.resetAfter
	}
	pg := page.Page{Version: "v", Clock: s.scores[len(s.scores)-1], Reset: reset}
	for i, score := range s.scores {
		if score < from {
			continue
		}
		if len(pg.Notices) == q.Limit {
			pg.More, pg.Clock = true, pg.Notices[q.Limit-1].Score
			break
		}
		pg.Notices = append(pg.Notices, notice.View{Score: score, Notice: &notice.Notice{ID: fmt.Sprintf("n_%d", i)}})
	}
	pg.Cursor = strconv.FormatInt(pg.Clock, 10)
	return pg, nil
}

type pack struct {
	XMLName       xml.Name `xml:"packNotificationVo"`
	Warehouse     string   `xml:"whId"`
	LastFetch     int64    `xml:"lastFetchTimeStamp"`
	Unread        int      `xml:"unreadCount"`
	Notifications []struct {
		ID         string `xml:"id"`
		CreateTime int64  `xml:"createTime"`
		ExpireTime int64  `xml:"expireTime"`
	} `xml:"notifications>notification"`
}

func decodePack(t *testing.T, body string) pack {
	t.Helper()
	var p pack
	if err := xml.Unmarshal([]byte(body), &p); err != nil {
		t.Fatalf("%v in %s", err, body)
	}
	return p
}
