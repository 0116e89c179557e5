package api_test

import (
	"context"
	"encoding/json"
	"maps"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"tallyman/internal/notice"
	"tallyman/internal/wire"
)

const queuePath = "/api/v1/queues/replenishment"

// request is a request and what its answer must have.
type request struct {
	method, path, body string
	status             int
	contains           string // "" = the whole body must be empty
}

func (b *bundle) follow(t *testing.T, requests []request) {
	t.Helper()
	for _, r := range requests {
		got := b.handleBody(t, r.method, r.path, r.body)
		if got.status != r.status || !strings.Contains(got.body, r.contains) || r.contains == "" && got.body != "" {
			t.Errorf("%s %s %s: %d %s, want %d %s", r.method, r.path, r.body, got.status, got.body, r.status, r.contains)
		}
	}
}

// TestTheLifeOfItems walks through all that can be done, with a queue in memory. Two failures make an item dead there, and it can
// be suspended once.
func TestTheLifeOfItems(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBundle()
		items, item := queuePath+"/items", func(rest string) string { return queuePath + "/items/" + rest }
		b.follow(t, []request{
			{
				"POST", items, `{"items":[{"id":"a","payload":{"bin":"A-01"},"dedupeKey":"A-01"},{"id":"b","priority":5,"payload":[1.50]},{"payload":"x","delay":"1d12h"}]}`, 200,
				`{"items":[{"id":"a","outcome":"pushed"},{"id":"b","outcome":"pushed"},{"id":"i_3","outcome":"pushed"}]}`,
			},
			{
				"POST", items, `{"items":[{"id":"a","payload":1},{"id":"c","payload":1,"dedupeKey":"A-01"}]}`, 200,
				`{"items":[{"id":"a","outcome":"exists"},{"id":"c","outcome":"duplicate","of":"a"}]}`,
			},
			{"GET", item("a/rank"), "", 200, `{"id":"a","rank":2,"score":20946684800000}`},
			{"GET", item("i_3/rank"), "", 404, `"code":"item_not_found"`},
			{"GET", item("i_3"), "", 200, `"remainingSeconds":129600`},
			{
				"POST", queuePath + "/lease", `{"worker":"w1"}`, 200,
				`{"items":[{"id":"b","attempt":1,"priority":5,"payload":[1.50],"leaseUntil":"2000-01-01T00:01:00Z","createdAt":"2000-01-01T00:00:00Z","failures":0,"suspends":0}]}`,
			},
			{"POST", queuePath + "/lease", `{"worker":"w2","max":10,"lease":"5m"}`, 200, `"leaseUntil":"2000-01-01T00:05:00Z"`},
			{"POST", queuePath + "/lease", `{"worker":"w2"}`, 200, `{"items":[]}`},

			{"POST", item("b/ack"), `{"attempt":2}`, 409, `"code":"lease_lost"`},
			{"POST", item("b/ack"), `{"attempt":1,"worker":"w1"}`, 200, `{"op":"ack","id":"b","outcome":"ok","state":"done"}`},
			{"POST", item("b/ack"), `{"attempt":1}`, 409, `"code":"lease_lost"`},
			{"POST", item("a/finish"), "", 409, `a worker holds item \"a\"; wait until the worker has finished the item, or until the lease ends","code":"item_leased"`},
			{"POST", item("a/suspend"), "", 409, `; name the attempt, or wait until the worker has finished the item","code":"item_leased"`},
			{"DELETE", item("a"), "", 409, `; use force to remove the item now","code":"item_leased"`},
			{"POST", item("a/extend"), `{"attempt":1,"lease":"10m"}`, 200, `{"op":"extend","id":"a","outcome":"ok","state":"leased","due":"2000-01-01T00:10:00Z"}`},
			{"POST", item("a/nack"), `{"attempt":1,"delay":"30s","note":"no stock"}`, 200, `"state":"delayed","due":"2000-01-01T00:00:30Z"`},
			{"POST", item("a/suspend"), "", 200, `"state":"suspended","due":"2000-01-01T02:00:00Z"`},
			{"POST", item("a/suspend"), "", 409, `"code":"suspend_limit"`},
			{"POST", item("a/store"), `{"days":3}`, 200, `"state":"stored","due":"2000-01-04T00:00:00Z"`},
			{"POST", item("a/store"), `{"delay":"1.5d"}`, 200, `"state":"stored","due":"2000-01-02T12:00:00Z"`},
			{"POST", item("a/assign"), `{"worker":"w3"}`, 200, `"state":"stored"`},
			{"GET", items + "?state=stored", "", 200, `"assignee":"w3"`},
			{"POST", item("a/requeue"), `{}`, 409, `"code":"item_not_dead"`},
			{"DELETE", item("a"), "", 204, ""},
			{"DELETE", item("a"), "", 404, `"code":"item_not_found"`},

			{"POST", items, `{"items":[{"id":"d","payload":null},{"id":"e","payload":{}}]}`, 200, `pushed`},
			{"POST", queuePath + "/step", `{"worker":"w1","max":2,"requestId":"r1"}`, 200, `{"results":[],"items":[{"id":"d","attempt":1,"priority":3,"payload":null,`},
			{"POST", queuePath + "/step", `{"worker":"w1","max":2,"requestId":"r1"}`, 200, `{"results":[],"items":[{"id":"d","attempt":1,`},
			{
				"POST", queuePath + "/step", `{"worker":"w1","ops":[{"op":"nack","id":"d","attempt":1},{"op":"release","id":"e","attempt":1},{"op":"ack","id":"d","attempt":1}]}`, 200,
				`{"results":[{"op":"nack","id":"d","outcome":"ok","state":"ready"},{"op":"release","id":"e","outcome":"ok","state":"ready"},{"op":"ack","id":"d","outcome":"lease_lost"}],"items":[]}`,
			},
			{"POST", queuePath + "/lease", `{"worker":"w1"}`, 200, `"id":"d","attempt":2`},
			{"POST", item("d/nack"), `{"attempt":2}`, 200, `"state":"dead"`},
			{"POST", item("d/store"), `{"days":1}`, 409, `"code":"item_dead"`},
			{
				"POST", queuePath + "/requeue", `{"ids":["d","e"]}`, 200,
				`{"requeued":1,"results":[{"op":"requeue","id":"d","outcome":"ok","state":"ready"},{"op":"requeue","id":"e","outcome":"item_not_dead"}]}`,
			},
			{"POST", queuePath + "/requeue", `{"all":true}`, 200, `{"requeued":0}`},

			{"POST", queuePath + "/pause", "", 200, `"paused":true,"pausedBy":"anonymous","pausedAt":"2000-01-01T00:00:00Z"`},
			{"POST", queuePath + "/lease", `{"worker":"w1"}`, 200, `{"items":[]}`},
			{"POST", queuePath + "/resume", "{}", 200, `"paused":false,"settings"`},
			{"POST", queuePath + "/remove", `{"state":"ready","from":2,"to":9}`, 200, `{"removed":1}`},
			{"GET", queuePath, "", 200, `"ready":1,`},
			{"POST", item("d/finish"), "", 200, `{"op":"finish","id":"d","outcome":"ok","state":"done"}`},
		})
	})
}

func TestTheTwinIsAQueueOfItsOwn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBundle()
		b.follow(t, []request{
			{
				"POST", queuePath + "/items", `{"items":[{"id":"t","payload":1,"test":true},{"id":"u","payload":1,"test":true}]}`, 200,
				`{"items":[{"id":"t","outcome":"pushed"},{"id":"u","outcome":"pushed"}]}`,
			},
			{"POST", queuePath + "/items", `{"items":[{"id":"r","payload":1}]}`, 200, `{"items":[{"id":"r","outcome":"pushed"}]}`},
			{"GET", queuePath + "/items/t", "", 404, "item_not_found"},
			{"GET", queuePath + "/items/t?test=true", "", 200, `"id":"t"`},
			{"GET", queuePath + "/items/u/rank?test=true", "", 200, `"rank":2`},
			{"GET", queuePath + "/items?test=true", "", 200, `"id":"t"`},
			{"POST", queuePath + "/pause", `{"test":true}`, 200, `"test":true`},
			{"POST", queuePath + "/lease", `{"worker":"w","max":9,"test":true}`, 200, `{"items":[]}`},
			{"POST", queuePath + "/lease", `{"worker":"w","max":9}`, 200, `"id":"r"`},
			{"POST", queuePath + "/resume", `{"test":true}`, 200, `"paused":false`},
			{"POST", queuePath + "/lease", `{"worker":"w","test":true}`, 200, `"id":"t"`},
			{"POST", queuePath + "/items/t/nack", `{"attempt":1}`, 409, "lease_lost"},
			{"POST", queuePath + "/items/t/nack", `{"attempt":1,"test":true}`, 200, `"state":"ready"`},
			{"GET", queuePath + "?test=true", "", 200, `"test":true,"ready":2`},
			{"GET", queuePath + "?test=true", "", 200, `"suspendSteps":["2h","12h"]}`}, // and no events
			{"GET", "/api/v1/queues?test=true", "", 200, `{"queues":[{"name":"replenishment","test":true,"ready":2`},
			{"GET", "/api/v1/queues", "", 200, `{"queues":[{"name":"replenishment","ready":0`},
			{"POST", queuePath + "/remove", `{"state":"ready","from":1,"to":1,"test":true}`, 200, `{"removed":1}`},
			{"POST", queuePath + "/requeue", `{"all":true,"test":true}`, 200, `{"requeued":0}`},
			{"DELETE", queuePath + "/items/u?test=true", "", 204, ""},
		})
	})
}

// TestQueueForms compares the answers to operators with golden files.
func TestQueueForms(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBundle()
		push := `{"items":[{"id":"a","payload":{"bin":"A-01","note":"<&>"},"priority":5},{"id":"b","payload":17},{"id":"c","payload":{"qty":1.10},"delay":"90s"}]}`
		b.handleBody(t, http.MethodPost, queuePath+"/items", push)
		time.Sleep(2 * time.Second) //nolint:forbidigo // inside a synctest bubble
		b.handleBody(t, http.MethodPost, queuePath+"/lease", `{"worker":"w1"}`)
		b.handleBody(t, http.MethodPost, queuePath+"/items/a/suspend", `{"attempt":1,"worker":"w1","note":"bin is blocked"}`)
		b.handleBody(t, http.MethodPost, queuePath+"/pause", "")
		for name, path := range map[string]string{
			"queues": "/api/v1/queues", "queue": queuePath, "queue_ready": queuePath + "/items", "queue_delayed": queuePath + "/items?state=delayed",
			"queue_item": queuePath + "/items/a", "queue_rank": queuePath + "/items/b/rank",
		} {
			golden(t, name+".json", b.handle(t, path).body)
			golden(t, name+".xml", b.handle(t, path, "Accept", "application/xml").body)
		}
		b.handleBody(t, http.MethodPost, queuePath+"/resume", "")
		for _, r := range [][3]string{
			{"queue_pushed", "/items", `{"items":[{"id":"b","payload":1},{"id":"n","payload":1,"dedupeKey":"k"},{"id":"m","payload":1,"dedupeKey":"k"}]}`},
			{"queue_stepped", "/step", `{"worker":"w","max":1,"ops":[{"op":"store","id":"c","days":1},{"op":"ack","id":"b","attempt":7}]}`},
			{"queue_leased", "/lease", `{"worker":"w"}`},
			{"queue_result", "/items/n/extend", `{"attempt":1,"lease":"1h"}`},
			{"queue_requeued", "/requeue", `{"ids":["n"]}`},
			{"queue_removed", "/remove", `{"state":"stored","from":1,"to":1}`},
		} {
			golden(t, r[0]+".xml", b.handleBody(t, http.MethodPost, queuePath+r[1], r[2], "Accept", "application/xml").body)
		}
	})
}

// someNotices are notices that items were made of, by id.
type someNotices map[string]*notice.Notice

func (s someNotices) Notices(_ context.Context, ids []string) (map[string]*notice.Notice, error) {
	if s == nil {
		return nil, errBroken
	}
	found := map[string]*notice.Notice{}
	for _, id := range ids {
		if n := s[id]; n != nil {
			found[id] = n
		}
	}
	return found, nil
}

// TestItemsHaveTitlesInTheReadersLanguage looks at items that were made of notices, at one that only looks like them, and at one of another warehouse.
func TestItemsHaveTitlesInTheReadersLanguage(t *testing.T) {
	t.Parallel()
	elsewhere := *bin().Notice
	elsewhere.ID, elsewhere.Warehouse = "n_else", "119241"
	notices := someNotices{"n_abc": bin().Notice, "n_else": &elsewhere}
	b := newBundle(func(p *parts) { p.Notices = notices })
	b.handleBody(t, http.MethodPost, queuePath+"/items", `{"items":[{"id":"n_abc","warehouse":"119240","payload":{"id":"n_abc"}},
		{"id":"n_first","warehouse":"119240","payload":{"id":"n_abc"}},{"id":"own","warehouse":"119240","payload":{"id":"n_abc"}},
		{"id":"n_theirs","warehouse":"119240","payload":{"id":"n_else"}},{"id":"n_gone","warehouse":"119240","payload":{"id":"n_gone"}}]}`)
	titles := func(got answer) map[string]string {
		t.Helper()
		var form wire.ItemsForm
		if err := json.Unmarshal([]byte(got.body), &form); err != nil || got.status != http.StatusOK {
			t.Fatalf("%d %s, %v", got.status, got.body, err)
		}
		found := map[string]string{}
		for _, it := range form.Items {
			found[it.ID] = it.Title
		}
		return found
	}
	for language, title := range map[string]string{"zh-CN": "货位 A-01 为 -3", "en": "Bin A-01 is at -3", "": "Bin A-01 is at -3"} {
		want := map[string]string{"n_abc": title, "n_first": title, "own": "", "n_theirs": "", "n_gone": ""}
		if got := titles(b.handle(t, queuePath+"/items", "Accept-Language", language)); !maps.Equal(got, want) {
			t.Errorf("%s: %v", language, got)
		}
		one := b.handle(t, queuePath+"/items/n_abc", "Accept-Language", language)
		if !strings.Contains(one.body, `"title":"`+title+`"`) || !strings.Contains(one.header.Get("Vary"), "Accept-Language") {
			t.Errorf("%s: %s, it varies with %s", language, one.body, one.header.Get("Vary"))
		}
	}
	notices = nil
	b = newBundle(func(p *parts) { p.Notices = notices })
	b.handleBody(t, http.MethodPost, queuePath+"/items", `{"items":[{"id":"n_abc","warehouse":"119240","payload":{"id":"n_abc"}}]}`)
	if got := titles(b.handle(t, queuePath+"/items")); !maps.Equal(got, map[string]string{"n_abc": ""}) {
		t.Errorf("while notices cannot be read: %v", got)
	}
}
