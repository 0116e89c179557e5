package app_test

import (
	"net/http"
	"net/url"
	"testing"
	"time"

	"tallyman/internal/config"
	"tallyman/internal/testenv"
)

// A rule with on_error: alert whose source is away tells those who subscribed to the built-in type; the types are there
// without being asked for.
func TestFailingRuleTellsOfItself(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	down := testenv.PostgresServer(t)
	s.cfg.Sources["erp"] = config.Source{Driver: config.Postgres, URL: config.NewSecret(down.Database()), MaxConnections: 1, StatementTimeout: 2 * time.Second}
	s.rule("erp.yaml", `
version: 1
rules:
  - id: erp-alive
    schedule: {cron: "@every 1s"}
    source: erp
    probe: {sql: "SELECT 119240 AS wh_id, 'E-01' AS bin"}
    key: [wh_id, bin]
    on_error: alert
    notice: {type: REP_NOTICE, warehouse: '"119240"', title: "ERP", send_resolved: true}
    deliver: [{sink: inbox}]
`)
	down.Kill()
	n := s.start("one")
	code, body := n.do(http.MethodPost, "/api/v1/subscriptions", "application/json", `{"type":"TALLYMAN_RULE_FAILED","warehouse":"*","subscriber":"role:keeper"}`)
	if code != http.StatusCreated {
		t.Fatalf("subscribing: %d %s", code, body)
	}
	ofType := url.Values{"type": {"TALLYMAN_RULE_FAILED"}}
	told := n.await(ofType, 1).Notices[0]
	if told.Title != "Rule fails: erp-alive" || told.TypeID != 2_000_000_002 || told.Status != "firing" || told.Priority != 4 ||
		told.Data["rule"] != "erp-alive" || told.Data["code"] != "source_unreachable" || told.Data["error"] == "" || told.Key != `"on_error"` {
		t.Errorf("%+v", told)
	}
	down.Restart()
	if told = n.await(ofType, 2).Notices[1]; told.Status != "resolved" || told.Title != "Resolved: Rule fails: erp-alive" {
		t.Errorf("%+v", told)
	}
}
