package app_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"tallyman/internal/app"
	"tallyman/internal/config"
	"tallyman/internal/testenv"
	"tallyman/internal/wire"
)

const subscribersTable = "CREATE TABLE wms_subscribers (login varchar(40), kind varchar(40), wh varchar(40))"

// subscribersFrom has the subscriptions of the site come from its source wms.
func (s *site) subscribersFrom(every time.Duration) {
	s.cfg.Subscriptions = config.Subscriptions{From: &config.SubscriptionQuery{
		Source: "wms", SQL: "SELECT login AS subscriber, kind AS type, wh AS warehouse FROM wms_subscribers", Every: every,
	}}
}

// origin is the only source that subscriptions come from.
func (n *node) origin() wire.OriginForm {
	n.t.Helper()
	var form wire.OriginsForm
	n.asks(http.MethodGet, "/subscriptions/origins", "", &form)
	if len(form.Origins) != 1 {
		return wire.OriginForm{}
	}
	return form.Origins[0]
}

// subscribed are the subscriptions as the API lists them.
func (n *node) subscribed() string {
	n.t.Helper()
	var form wire.SubscriptionsForm
	n.asks(http.MethodGet, "/subscriptions", "", &form)
	var lines []string
	for _, s := range form.Subscriptions {
		lines = append(lines, strings.Join([]string{s.Type, s.Warehouse, s.Subscriber, s.Origin}, " "))
	}
	return strings.Join(lines, "; ")
}

// unwell is what the node says of its subscriptions, in the status and to the balancer.
func (n *node) unwell() (said string, readyz bool) {
	n.t.Helper()
	for _, h := range n.status().Health {
		if h.Part == "subscriptions" && !h.OK {
			said = h.Error
		}
	}
	_, body := n.do(http.MethodGet, "/readyz", "application/json", "")
	return said, strings.Contains(body, "subscriptions wms")
}

// TestSubscriptionsComeFromASource: two nodes on real servers keep them, one of them goes, a query fails, a list waits,
// the setting goes.
func TestSubscriptionsComeFromASource(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.realServers()
	wms := s.postgresWMS()
	wms.exec(subscribersTable)
	wms.exec("INSERT INTO wms_subscribers VALUES ('role:keeper', '124719', '*'), ('user:ann', 'REP_NOTICE', '119240'), ('user:bo', 'REP_NOTICE', '119240')")
	s.subscribersFrom(200 * time.Millisecond)
	one, two := s.start("node-1"), s.start("node-2")
	const all = "REP_NOTICE * role:keeper wms; REP_NOTICE 119240 user:ann wms; REP_NOTICE 119240 user:bo wms"
	testenv.Eventually(t, func() bool { return two.subscribed() == all }, 30*time.Second)
	if o := two.origin(); !o.Configured || o.Subscriptions != 3 || o.Answered == nil || o.Waits != nil {
		t.Errorf("%+v", o)
	}

	// Nobody changes them by hand.
	code, body := two.do(http.MethodDelete, "/api/v1/subscriptions?type=REP_NOTICE&warehouse=*&subscriber=role:keeper", "application/json", "")
	if code != http.StatusConflict || problemOf(body).Code != string(wire.CodeHasOrigin) {
		t.Errorf("%d %s", code, body)
	}
	if code, body := two.do(http.MethodPost, "/api/v1/subscriptions/origins/wms/release", "application/json", ""); code != http.StatusConflict || problemOf(body).Code != string(wire.CodeOriginConfigured) {
		t.Errorf("%d %s", code, body)
	}

	// The node that is left goes on, keeps the list of a query that fails, and says so.
	one.stop()
	wms.exec("ALTER TABLE wms_subscribers RENAME COLUMN login TO user_name")
	testenv.Eventually(t, func() bool {
		said, readyz := two.unwell()
		return strings.HasPrefix(said, "subscriptions_fail: ") && strings.Contains(said, "login") && readyz
	}, 90*time.Second) // the claim of a node that stopped while it asked lasts for 40 s
	if got := two.subscribed(); got != all {
		t.Errorf("subscribed: %s", got)
	}
	wms.exec("ALTER TABLE wms_subscribers RENAME COLUMN user_name TO login")
	testenv.Eventually(t, func() bool { said, _ := two.unwell(); return said == "" }, 30*time.Second)

	// A list that would remove more than half waits for an operator.
	wms.exec("DELETE FROM wms_subscribers WHERE login <> 'role:keeper'")
	testenv.Eventually(t, func() bool {
		said, _ := two.unwell()
		return strings.Contains(said, "subscriptions_wait: a waiting list would remove 2 of 3 subscriptions")
	}, 30*time.Second)
	waits := two.origin().Waits
	if waits == nil || waits.Removed != 2 || len(waits.Removing) != 2 || two.subscribed() != all {
		t.Fatalf("%+v, %s", waits, two.subscribed())
	}
	_, text := two.do(http.MethodGet, "/metrics", "text/plain", "")
	for _, line := range []string{`tallyman_list_failing{list="subscriptions",name="wms"} 0`, `tallyman_list_answered_timestamp_seconds{list="subscriptions",name="wms"} `} {
		if !strings.Contains(text, line) {
			t.Errorf("no %s", line)
		}
	}
	code, body = two.do(http.MethodPost, "/api/v1/subscriptions/origins/wms/confirm", "application/json", `{"hash":"another"}`)
	if code != http.StatusConflict || problemOf(body).Code != string(wire.CodeListChanged) {
		t.Errorf("%d %s", code, body)
	}
	var confirmed wire.ConfirmedListForm
	two.asks(http.MethodPost, "/subscriptions/origins/wms/confirm", fmt.Sprintf(`{"hash":%q}`, waits.Hash), &confirmed)
	if confirmed.Removed != 2 || two.subscribed() != "REP_NOTICE * role:keeper wms" {
		t.Errorf("%+v, %s", confirmed, two.subscribed())
	}

	// Without the setting they stay, and are told, until somebody releases them.
	two.stop()
	s.cfg.Subscriptions = config.Subscriptions{}
	three := s.start("node-3")
	if said, _ := three.unwell(); !strings.HasPrefix(said, "subscriptions_orphaned: 1 subscriptions come from the source wms") {
		t.Errorf("%q", said)
	}
	var released wire.ReleasedForm
	three.asks(http.MethodPost, "/subscriptions/origins/wms/release", "", &released)
	if said, _ := three.unwell(); said != "" || released.Released != 1 || three.subscribed() != "REP_NOTICE * role:keeper " {
		t.Errorf("%q, %+v, %s", said, released, three.subscribed())
	}
	if code, body := three.do(http.MethodPost, "/api/v1/subscriptions/origins/wms/release", "application/json", ""); code != http.StatusNotFound || problemOf(body).Code != string(wire.CodeOriginNotFound) {
		t.Errorf("%d %s", code, body)
	}
}

// TestSubscriptionQueryIsChecked before a node starts.
func TestSubscriptionQueryIsChecked(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.sqliteWMS()
	s.subscribersFrom(time.Minute)
	s.cfg.Subscriptions.From.SQL = "DELETE FROM wms_subscribers"
	if list := app.CheckConfig(t.Context(), s.cfg); len(list) != 1 || list[0].Code != app.CodeSubscriptionSQL {
		t.Errorf("%v", list)
	}
	if _, err := app.New(t.Context(), s.cfg, app.Options{Node: "node-1"}); err == nil || !strings.Contains(err.Error(), "subscriptions.sql: sql_") {
		t.Errorf("%v", err)
	}
}
