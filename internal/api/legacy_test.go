package api_test

import (
	"context"
	"encoding/xml"
	"fmt"
	"math"
	"net/http"
	"strconv"
	"strings"
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
	const parameters = "whId=119240&subscriberIdList=1,2,%20role:keeper,&roleIdList=7,8&lastFetchTimeStamp=1780272600000&clientProperty=x&limit=3"
	const inXML = `<?xml version="1.0" encoding="UTF-8"?>
		<v:listNotifications xmlns:v="urn:x"><whId>119240</whId><subscriberIdList>1,2</subscriberIdList><subscriberIdList><v:string>role:keeper</v:string></subscriberIdList>
		<roleIdList><id>7</id><id>8</id></roleIdList><lastFetchTimeStamp> 1780272600000 </lastFetchTimeStamp><clientProperty/><!-- x --></v:listNotifications>`
	asks := map[string]func() answer{
		"GET": func() answer { return b.get(t, legacyPath+"?"+parameters, "Accept", "application/json") },
		"a form": func() answer {
			return b.do(t, http.MethodPost, legacyPath, parameters, "Content-Type", "application/x-www-form-urlencoded; charset=UTF-8")
		},
		"half a form": func() answer {
			address, form, _ := strings.Cut(parameters, "&")
			return b.do(t, http.MethodPost, legacyPath+"?"+address, form, "Content-Type", "application/x-www-form-urlencoded", "Accept", "application/json")
		},
		"POST without a body": func() answer { return b.do(t, http.MethodPost, legacyPath+"?"+parameters, "") },
		"XML": func() answer {
			return b.do(t, http.MethodPost, legacyPath, inXML, "Content-Type", "text/xml;charset=utf-8")
		},
	}
	want := page.Query{
		Warehouse: "119240", Subscribers: []string{"role:7", "role:8", "role:keeper", "user:1", "user:2"}, Since: 1780272600001, Limit: page.MaxLimit, Plain: true, Unread: true,
	}
	for name, ask := range asks {
		b.inbox.put(page.Page{Version: "v0", Cursor: "c0"})
		golden(t, "legacy-empty.xml", ask().body)
		pg := onePage()
		pg.Unread = 1
		b.inbox.put(pg)
		got := ask()
		if got.status != http.StatusOK || got.header.Get("Content-Type") != "application/xml; charset=utf-8" {
			t.Errorf("%s: status %d, type %q", name, got.status, got.header.Get("Content-Type"))
		}
		golden(t, "legacy.xml", got.body)
		asked := b.inbox.asked()
		if diff := cmp.Diff(want, asked[len(asked)-1]); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
	b.get(t, legacyPath+"?whId=119240&subscriberIdList=1&includeRead=true")
	if asked := b.inbox.asked(); asked[len(asked)-1].Unread {
		t.Error("includeRead does not include what was read")
	}
}

// TestLegacyProblemsAreXML: whatever is wrong, old clients understand XML alone.
func TestLegacyProblemsAreXML(t *testing.T) {
	t.Parallel()
	b := setup(t)
	const form, path = "application/x-www-form-urlencoded", legacyPath + "?whId=1&subscriberIdList=1"
	for code, got := range map[string]answer{
		"missing_parameter":      b.get(t, legacyPath, "Accept", "application/json"),
		"method_not_allowed":     b.do(t, http.MethodDelete, path, "", "Accept", "application/json"),
		"bad_host":               b.get(t, path, "Host", "wms.example", "Accept", "application/json"),
		"repeated_header":        b.get(t, path, "Authorization", "Bearer a", "Authorization", "Bearer b"),
		"body_too_large":         b.do(t, http.MethodPost, legacyPath, "x="+strings.Repeat("x", 64<<10), "Content-Type", form),
		"unsupported_media_type": b.do(t, http.MethodPost, legacyPath, "{}", "Content-Type", "application/json", "Accept", "application/json"),
		"malformed_body":         b.do(t, http.MethodPost, legacyPath, "<a><b></a>", "Content-Type", "application/xml"),
		"bad_warehouse":          b.do(t, http.MethodPost, legacyPath, "<a><whId>a b</whId></a>", "Content-Type", "application/xml"),
		"bad_text":               b.do(t, http.MethodPost, legacyPath, "whId=%ff", "Content-Type", form),
	} {
		if p := got.asProblem(t); p.Code != code || p.XMLName.Local != "problem" || got.header.Get("Content-Type") != "application/problem+xml" {
			t.Errorf("%d %s as %s, want %s in XML: %s", got.status, p.Code, got.header.Get("Content-Type"), code, got.body)
		}
	}
	const bomb = `<!DOCTYPE a [<!ENTITY b "bb">]><a><whId>&b;</whId></a>`
	if got := b.do(t, http.MethodPost, legacyPath, bomb, "Content-Type", "application/xml"); got.status != http.StatusBadRequest || !strings.Contains(got.body, "directive") {
		t.Errorf("%d %s", got.status, got.body)
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
	if got.LastFetch != n.CreateTime {
		t.Errorf("lastFetchTimeStamp %d", got.LastFetch)
	}
}

// TestLegacyGivesEachNoticeOnce polls a long inbox, many of one millisecond, with the largest createTime alone. The last millisecond is not over.
func TestLegacyGivesEachNoticeOnce(t *testing.T) {
	t.Parallel()
	const total, perMS = 5_400, 900
	inbox := longInbox(total, perMS)
	inbox.settled = scoreOf(total, perMS) / 1000 * 1000
	b := setup(t, func(d *parts) { d.Inbox = inbox })
	seen := map[string]bool{}
	since := int64(1)
	for polls := 0; ; polls++ {
		if polls > 10 {
			t.Fatalf("%d of %d after %d polls", len(seen), total, polls)
		}
		got := b.get(t, legacyPath+"?whId=1&subscriberIdList=1&lastFetchTimeStamp="+strconv.FormatInt(since, 10))
		list := decodePack(t, got.body)
		for _, n := range list.Notifications {
			if seen[n.ID] {
				t.Fatalf("%s comes again", n.ID)
			}
			seen[n.ID] = true
			since = max(since, n.CreateTime)
		}
		if list.LastFetch != since {
			t.Errorf("lastFetchTimeStamp %d, createTime up to %d", list.LastFetch, since)
		}
		if len(list.Notifications) > 0 {
			continue
		}
		if inbox.settled < math.MaxInt64 {
			again := b.get(t, legacyPath+"?whId=1&subscriberIdList=1&lastFetchTimeStamp="+strconv.FormatInt(since, 10), "If-None-Match", got.header.Get("ETag"))
			if again.status != http.StatusOK {
				t.Errorf("while something is held back the answer is %d", again.status)
			}
		}
		if len(seen) == total {
			break
		}
		if len(seen) != total-perMS || inbox.settled == math.MaxInt64 {
			t.Fatalf("%d of %d", len(seen), total)
		}
		inbox.settled = math.MaxInt64
	}
}

func TestLegacyStopsWhereTheIndexBeginsAnew(t *testing.T) {
	t.Parallel()
	inbox := longInbox(500, 90)
	inbox.resetAfter = 1
	b := setup(t, func(d *parts) { d.Inbox = inbox })
	got := decodePack(t, b.get(t, legacyPath+"?whId=1&subscriberIdList=1&lastFetchTimeStamp=1").body)
	if len(got.Notifications) != 180 || got.LastFetch != scoreOf(180, 90)/1000 { // the page ends in the third millisecond
		t.Errorf("%d notices up to %d", len(got.Notifications), got.LastFetch)
	}
}

// scriptedInbox pages over notices with ascending scores.
type scriptedInbox struct {
	scores     []int64
	polls      int
	resetAfter int   // polls with a cursor from then on are answered with a reset
	settled    int64 // see page.Page
}

func longInbox(total, perMS int) *scriptedInbox {
	s := &scriptedInbox{settled: math.MaxInt64}
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
	pg := page.Page{Version: "v", Clock: s.scores[len(s.scores)-1], Reset: reset, Settled: s.settled}
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
		Title      string `xml:"title"`
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
