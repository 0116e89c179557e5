package app_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"tallyman/internal/config"
)

// The main job, on the embedded default and on real servers: a rule finds bad stock, a client polls the notice as JSON,
// XML and legacy XML, the stock is corrected, and the resolution follows.
func TestMainJob(t *testing.T) {
	t.Parallel()
	for name, prepare := range environments {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t)
			wms := prepare(s)
			s.rule("stock.yaml", stockRule)
			wms.exec(`INSERT INTO bin_stock VALUES (119240, 'A-01', 'S1', -3), (119240, 'A-02', 'S2', 4), (119241, 'B-01', 'S1', -1)`)
			n := s.start("one")

			first := n.await(nil, 1)
			got := first.Notices[0]
			if got.Title != "Bin A-01 is at -3" || got.Type != "REP_NOTICE" || got.TypeID != 124719 || got.Status != "firing" ||
				got.Warehouse != "119240" || got.Key != `[119240,"A-01","S1"]` || got.Priority != 3 || got.Modal != "popup" ||
				got.Data["qty"] != "-3" || got.Data["bin"] != "A-01" || got.Labels["area"] != "replenishment" {
				t.Fatalf("the notice is %+v", got)
			}
			if first.Unread != 1 || first.More || first.Reset {
				t.Fatalf("the page is %+v", first)
			}

			_, xml := n.do(http.MethodGet, "/api/v1/notices?warehouse=119240&subscriber=role:keeper", "application/xml", "")
			if !strings.Contains(xml, "<data><bin>A-01</bin>") || !strings.Contains(xml, "<id>"+got.ID+"</id>") {
				t.Errorf("as XML: %s", xml)
			}
			_, legacy := n.do(http.MethodGet, "/api/v1/legacy/listNotifications?whId=119240&subscriberIdList=role:keeper", "*/*", "")
			if !strings.Contains(legacy, "<messageTypeId>124719</messageTypeId>") || !strings.Contains(legacy, "<whId>119240</whId>") {
				t.Errorf("as legacy XML: %s", legacy)
			}

			wms.exec(`UPDATE bin_stock SET qty = 20 WHERE bin_code = 'A-01'`)
			second := n.await(url.Values{"after": {first.Cursor}}, 1)
			if r := second.Notices[0]; r.Status != "resolved" || r.Key != got.Key || r.ID == got.ID {
				t.Fatalf("after the refill: %+v", r)
			}
			if code, p := n.poll(url.Values{"after": {second.Cursor}}); code != http.StatusOK || len(p.Notices) != 0 {
				t.Fatalf("nothing new, but %d %+v", code, p)
			}
		})
	}
}

// A node that is restarted goes on where it was: no notice comes twice, and none is lost.
func TestRestartTellsNothingTwice(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	wms := s.sqliteWMS()
	s.rule("stock.yaml", stockRule)
	wms.exec(`INSERT INTO bin_stock VALUES (119240, 'A-01', 'S1', -3)`)
	n := s.start("one")
	before := n.await(nil, 1)
	n.stop()

	wms.exec(`INSERT INTO bin_stock VALUES (119240, 'A-02', 'S2', -1)`)
	n = s.start("two")
	after := n.await(nil, 2) // the embedded Redis was empty and is written back
	if after.Notices[0].ID != before.Notices[0].ID || after.Notices[1].Title != "Bin A-02 is at -1" {
		t.Fatalf("after the restart: %+v", after.Notices)
	}
	if _, p := n.poll(url.Values{"after": {before.Cursor}}); !p.Reset {
		t.Fatalf("the cursor of the index before does not answer reset: %+v", p)
	}
}

// A subscription made on one node counts for the next commit on the other, and never for those before it.
func TestSubscriptionsAreInForceForTheNextCommitOnEveryNode(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.realServers()
	wms := s.postgresWMS()
	s.rule("stock.yaml", stockRule)
	s.cfg.Subscriptions.Seed = []config.Subscription{{Type: "REP_NOTICE", Warehouse: "119241", Subscriber: "role:keeper"}}
	one, two := s.start("one"), s.start("two")

	wms.exec(`INSERT INTO bin_stock VALUES (119241, 'A-01', 'S1', -1), (119240, 'A-01', 'S1', -1)`)
	one.await(url.Values{"warehouse": {"119241"}}, 1)
	subscription := `{"type":"REP_NOTICE","warehouse":"*","subscriber":"role:keeper"}`
	if code, body := two.do(http.MethodPost, "/api/v1/subscriptions", "application/json", subscription); code != http.StatusCreated {
		t.Fatalf("subscribe: %d %s", code, body)
	}
	wms.exec(`INSERT INTO bin_stock VALUES (119240, 'A-02', 'S2', -2)`)
	got := one.await(nil, 1)
	if got.Notices[0].Title != "Bin A-02 is at -2" {
		t.Fatalf("a notice of before the subscription came: %+v", got.Notices)
	}
	if both := two.await(nil, 1); both.Notices[0].ID != got.Notices[0].ID {
		t.Fatalf("the nodes answer differently: %+v and %+v", got.Notices, both.Notices)
	}
}
