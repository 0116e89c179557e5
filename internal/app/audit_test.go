package app_test

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"tallyman/internal/config"
	"tallyman/internal/ledger"
	"tallyman/internal/ledger/ledgertest"
	"tallyman/internal/testenv"
	"tallyman/rules/scopelist"
	"tallyman/sinks"
	"tallyman/sinks/queue"
)

// auditCase is a request that changes something, and the record that it must leave.
type auditCase struct {
	method, path, body string
	action, object     string
	holds              string // is somewhere in before or after
}

// auditCases are of every operation of the API that is recorded, by its id. {silence}, {token} and {delivery} are
// filled in from what came before.
var auditCases = map[string]auditCase{
	"create-type":           {http.MethodPost, "/types", `{"code":"GATE","id":9,"name":"Gate","title":{"en":"Gate"}}`, "type.create", "type:GATE", `"title":{"en":"Gate"}`},
	"put-type":              {http.MethodPut, "/types/DOCK", `{"code":"DOCK","id":8,"name":"Loading dock"}`, "type.put", "type:DOCK", `"name":"Dock"`},
	"delete-type":           {http.MethodDelete, "/types/REST", ``, "type.delete", "type:REST", `"name":"Rest"`},
	"create-subscription":   {http.MethodPost, "/subscriptions", `{"type":"REP_NOTICE","warehouse":"1","subscriber":"user:bo"}`, "subscription.add", "subscription:REP_NOTICE:1:user:bo", `user:bo`},
	"import-subscriptions":  {http.MethodPost, "/subscriptions/import", `{"subscriptions":[{"type":"REP_NOTICE","warehouse":"2","subscriber":"user:bo"},{"type":"REP_NOTICE","warehouse":"3","subscriber":"user:bo"},{"type":"REP_NOTICE","warehouse":"*","subscriber":"user:al"}]}`, "subscription.import", "subscriptions", `"added":2,"present":1`},
	"delete-subscription":   {http.MethodDelete, "/subscriptions?type=REP_NOTICE&warehouse=*&subscriber=role:keeper", ``, "subscription.remove", "subscription:REP_NOTICE:*:role:keeper", ``},
	"confirm-subscriptions": {http.MethodPost, "/subscriptions/origins/wms/confirm", `{"hash":"` + ledger.HashOfSubscriptions(nil) + `"}`, "subscription.confirm", "subscriptions:wms", `user:of`},
	"release-subscriptions": {http.MethodPost, "/subscriptions/origins/wms/release", ``, "subscription.release", "subscriptions:wms", `"released":0`},
	"confirm-scopes":        {http.MethodPost, "/scopes/gone/confirm", `{"hash":"` + scopelist.Hash("[]") + `"}`, "scopes.confirm", "rule:gone", `"removed":{"count":1,"first":[{"name":"1"}]}`},
	"forget-scopes":         {http.MethodDelete, "/scopes/gone", ``, "scopes.forget", "rule:gone", `"rule":"gone"`},
	"put-subscriber":        {http.MethodPut, "/subscribers/user:ann", `{"name":"Ann"}`, "subscriber.put", "subscriber:user:ann", `"name":"Ann"`},
	"delete-subscriber":     {http.MethodDelete, "/subscribers/user:bob", ``, "subscriber.delete", "subscriber:user:bob", `"name":"Bob"`},

	"cancel-delivery":   {http.MethodPost, "/deliveries/{delivery}/cancel", `{"reason":"a test"}`, "delivery.cancel", "delivery:{delivery}", `"state":"canceled"`},
	"retry-delivery":    {http.MethodPost, "/deliveries/{delivery}/retry", ``, "delivery.retry", "delivery:{delivery}", `"state":"pending"`},
	"cancel-deliveries": {http.MethodPost, "/deliveries/cancel", `{"filter":{"sink":"gateway"}}`, "delivery.cancel", "deliveries", `"changed":2`},
	"retry-deliveries":  {http.MethodPost, "/deliveries/retry", `{"filter":{"sink":"gateway","state":["canceled"]}}`, "delivery.retry", "deliveries", `"changed":2`},

	"pause-queue":        {http.MethodPost, "/queues/replenishment/pause", ``, "queue.pause", "queue:replenishment", ``},
	"resume-queue":       {http.MethodPost, "/queues/replenishment/resume", ``, "queue.resume", "queue:replenishment", ``},
	"set-queue-settings": {http.MethodPost, "/queues/replenishment/settings", `{"lease":"90s","reset":["maxAttempts"]}`, "queue.settings", "queue:replenishment", `"lease":"1m30s"`},
	"assign-item":        {http.MethodPost, "/queues/replenishment/items/a/assign", `{"worker":"w1"}`, "item.assign", "item:replenishment:a", `w1`},
	"set-item":           {http.MethodPost, "/queues/replenishment/items/f/set", `{"priority":5,"order":""}`, "item.set", "item:replenishment:f", ``},
	"finish-item":        {http.MethodPost, "/queues/replenishment/items/b/finish", ``, "item.finish", "item:replenishment:b", ``},
	"requeue-item":       {http.MethodPost, "/queues/replenishment/items/dead/requeue", ``, "item.requeue", "item:replenishment:dead", ``},
	"remove-item":        {http.MethodDelete, "/queues/replenishment/items/c?note=by+mistake", ``, "item.remove", "item:replenishment:c", ``},
	"remove-range":       {http.MethodPost, "/queues/replenishment/remove", `{"state":"ready","from":1,"to":1}`, "queue.remove", "queue:replenishment", `"removed":1`},
	"requeue-items":      {http.MethodPost, "/queues/replenishment/requeue", `{"all":true}`, "queue.requeue", "queue:replenishment", `"requeued":1`},
	"step":               {http.MethodPost, "/queues/replenishment/step", `{"ops":[{"op":"remove","id":"e"}]}`, "queue.step", "queue:replenishment", `"id":"e"`},

	"promote-rule": {http.MethodPost, "/rules/shadowed/promote", ``, "rule.promote", "rule:shadowed", `"by":"anonymous"`},
	"disable-rule": {http.MethodPost, "/rules/negative-bin-stock/disable", `{"reason":"stocktake"}`, "rule.disable", "rule:negative-bin-stock", `"state":"disabled"`},
	"enable-rule":  {http.MethodPost, "/rules/negative-bin-stock/enable", ``, "rule.enable", "rule:negative-bin-stock", `"state":"enabled"`},
	"clear-rule":   {http.MethodPost, "/rules/negative-bin-stock/clear", ``, "rule.clear", "rule:negative-bin-stock", `"state":"cleared"`},
	"draft-rule":   {http.MethodPost, "/rules/negative-bin-stock/draft", `{"text":"id: negative-bin-stock"}`, "rule.draft", "rule:negative-bin-stock", `"bytes":22`},
	"preview-rule": {http.MethodPost, "/rules/negative-bin-stock/preview", ``, "rule.preview", "rule:negative-bin-stock", `"sha256"`},
	"rewind-rule":  {http.MethodPost, "/rules/counted/rewind", `{"to":["7"],"reason":"missed"}`, "rule.rewind", "rule:counted", `"position":{"id":"7"}`},
	"run-rule":     {http.MethodPost, "/rules/negative-bin-stock/run", ``, "rule.run", "rule:negative-bin-stock", `"due"`},
	"pause-rules":  {http.MethodPost, "/rules/pause", `{"reason":"stocktake"}`, "rules.pause", "rules", `"state":"disabled"`},
	"resume-rules": {http.MethodPost, "/rules/resume", ``, "rules.resume", "rules", `"reason":"stocktake"`},
	"reload-rules": {http.MethodPost, "/rules/reload", ``, "rules.reload", "rules", `"changed":["negative-bin-stock"]`},

	"confirm-clock":  {http.MethodPost, "/clock/confirm", `{"reason":"a drill"}`, "clock.confirm", "clock", `"term":0`},
	"set-log-level":  {http.MethodPost, "/log/level", `{"level":"debug"}`, "log.level", "log:one", `"level":"debug"`},
	"drain":          {http.MethodPost, "/drain", `{"node":"one"}`, "node.drain", "node:one", `"state":"draining"`},
	"create-silence": {http.MethodPost, "/silences", `{"matchers":["rule=negative-bin-stock"],"for":"1h","comment":"stocktake"}`, "silence.add", "silence:{silence}", `"comment":"stocktake"`},
	"expire-silence": {http.MethodPost, "/silences/{silence}/expire", ``, "silence.expire", "silence:{silence}", `"state":"expired"`},
	"create-token":   {http.MethodPost, "/tokens", `{"subject":"service:wms","access":["service"],"warehouses":["119240"]}`, "token.create", "token:{token}", `"subject":"service:wms"`},
	"revoke-token":   {http.MethodPost, "/tokens/{token}/revoke", ``, "token.revoke", "token:{token}", `"state":"revoked"`},
}

// Operations that need others before or after them; the rest come in any order between.
var auditFirst, auditLast = []string{"create-silence", "create-token", "disable-rule", "enable-rule", "cancel-delivery", "cancel-deliveries", "retry-delivery", "pause-rules", "pause-queue"},
	[]string{"clear-rule", "resume-rules", "retry-deliveries", "resume-queue", "requeue-items", "remove-range", "drain"}

// notAudited are operations without a record, each with its reason in internal/api/audit_test.go, which holds the two
// together.
var notAudited = []string{
	"read-notice", "ack-notice", "read-all-notices", "send-notices", "push-items", "lease-items", "ack-item", "nack-item", "release-item", "extend-item",
	"suspend-item", "store-item", "legacy-post-notifications", "preview-type",
}

// Every operation that changes something leaves one record: who changed what. No record has a secret. Where the record
// cannot be written, the operation changes nothing. Changes of queue items reach the ledger a moment later, together
// with their records.
func TestEveryChangeIsRecorded(t *testing.T) {
	t.Parallel()
	s, n := auditSite(t)
	filled := map[string]string{}
	for _, id := range n.changingOperations() {
		c, ok := auditCases[id]
		if !ok {
			t.Errorf("%s changes something, and no case says what its record is", id)
			continue
		}
		fill := strings.NewReplacer("{silence}", filled["silence"], "{token}", filled["token"], "{delivery}", n.aDelivery())
		before := len(n.audit(""))
		path := "/api/v1" + fill.Replace(c.path)
		if id == "confirm-clock" { // there is nothing to confirm otherwise
			s.withholdClock()
			testenv.Eventually(t, func() bool { // silences are shown by what the node goes by
				clock := n.status().Clock
				return clock != nil && clock.AheadSecs >= 60
			}, 60*time.Second)
		}
		if id == "confirm-subscriptions" || id == "release-subscriptions" { // there is no source otherwise
			s.lists(id == "confirm-subscriptions")
		}
		if id == "confirm-scopes" || id == "forget-scopes" { // no query lists scopes otherwise
			s.ledgerExec(`INSERT INTO origins (kind, name, token, asked, list, listed, waits, waits_since) VALUES ('scopes', 'gone', 1, 1, '[{"name":"1"}]', 1, '[]', 1) ON CONFLICT DO NOTHING`)
		}
		if id == "reload-rules" { // before the node sees it by itself
			s.rule("stock.yaml", strings.Replace(auditRule, "when: qty < 0", "when: qty < -1", 1))
		}
		kind, what, _ := strings.Cut(c.action, ".")
		late := kind == "item" || kind == "queue" && what != "pause" && what != "resume" && what != "settings"
		if late {
			s.refuseRecords(true)
		} else {
			s.refuseRecords(true)
			old := n.settings()
			code, body := n.do(c.method, path, "application/json", c.body)
			if now := n.settings(); code != http.StatusServiceUnavailable || !strings.Contains(body, `"audit_unavailable"`) || now != old || len(n.audit("")) != before {
				t.Errorf("%s without its record: %d %s\nbefore: %s\nafter: %s", id, code, body, old, now)
			}
			s.refuseRecords(false)
		}
		code, body := n.do(c.method, path, "application/json", c.body)
		if code >= http.StatusMultipleChoices {
			t.Errorf("%s answers %d: %s", id, code, body)
			continue
		}
		var answer struct{ ID, Secret string }
		_ = json.Unmarshal([]byte(body), &answer) // 204 has none
		if name, _, _ := strings.Cut(c.action, "."); answer.ID != "" && strings.HasPrefix(id, "create-") {
			filled[name] = answer.ID
			fill = strings.NewReplacer("{"+name+"}", answer.ID)
		}
		if late { // it is done, and in the outbox: neither the move nor its record is in the ledger while that cannot write one
			s.ledgerLacks(n, before)
			s.refuseRecords(false)
			testenv.Eventually(t, func() bool { return len(n.audit("")) > before }, 20*time.Second)
		}
		list := n.audit("")
		if len(list) != before+1 {
			t.Errorf("%s left %d records", id, len(list)-before)
			continue
		}
		got := list[0]
		state := string(got.Before) + string(got.After)
		if id == "reload-rules" && got.By == "node:one" && got.Via == "file" { // the node has read the file by itself, before it was asked
			got.By, got.Via = "anonymous", "none"
		}
		if got.By != "anonymous" || got.Via != "none" || got.Action != c.action || got.Object != fill.Replace(c.object) || !strings.Contains(state, c.holds) {
			t.Errorf("%s left %s by %s via %s on %s: from %s to %s", id, got.Action, got.By, got.Via, got.Object, got.Before, got.After)
		}
		if answer.Secret != "" && strings.Contains(fmt.Sprint(list), answer.Secret) {
			t.Errorf("%s left the secret in its record", id)
		}
	}
}

// auditSite is a node with something of everything.
func auditSite(t *testing.T) (*site, *node) {
	t.Helper()
	s, gateway := newSite(t), testenv.NewHTTPServer(t)
	gateway.Always(testenv.ReplyStatus(http.StatusServiceUnavailable, ""))
	s.queue()
	s.cfg.Sinks["replenishment"].(*queue.Settings).MaxAttempts = 1
	s.webhook("gateway", gateway.URL).Breaker = sinks.Breaker{Failures: 1000, Open: time.Second}
	s.sqliteWMS()
	s.rule("stock.yaml", auditRule)
	s.rule("shadow.yaml", strings.NewReplacer("negative-bin-stock", "shadowed", "labels:", "shadow: true\n    labels:", "@every 1s", "@every 1h").Replace(stockRule))
	s.rule("counted.yaml", countedRule)
	n := s.start("one")
	n.must(http.MethodPut, "/types/DOCK", `{"code":"DOCK","id":8,"name":"Dock"}`)
	n.must(http.MethodPost, "/subscriptions", `{"type":"REP_NOTICE","warehouse":"*","subscriber":"user:al"}`)
	n.must(http.MethodPut, "/types/REST", `{"code":"REST","id":7,"name":"Rest"}`)
	n.must(http.MethodPut, "/subscribers/user:bob", `{"name":"Bob"}`)
	n.must(http.MethodPost, "/queues/replenishment/items", `{"items":[{"id":"dead","priority":5,"payload":1},{"id":"dead2","priority":5,"payload":1}]}`)
	n.must(http.MethodPost, "/queues/replenishment/lease", `{"worker":"w","max":2}`)
	n.must(http.MethodPost, "/queues/replenishment/items/dead/nack", `{"attempt":1}`)
	n.must(http.MethodPost, "/queues/replenishment/items/dead2/nack", `{"attempt":1}`)
	n.must(http.MethodPost, "/queues/replenishment/items", `{"items":[{"id":"a","priority":3,"payload":1},{"id":"b","priority":3,"payload":1},{"id":"c","priority":3,"payload":1},{"id":"d","priority":3,"payload":1},{"id":"e","priority":3,"payload":1},{"id":"f","priority":1,"payload":1}]}`)
	const later = `{"type":"REP_NOTICE","warehouse":"119240","data":{"bin":"A"},"deliver":[{"sink":"gateway","strategy":"delayed","delay":"1h","retry":9}]}`
	n.must(http.MethodPost, "/notices", `{"notices":[`+later+","+later+","+later+`]}`)
	testenv.Eventually(t, func() bool {
		return n.rule("negative-bin-stock").Verified && n.rule("shadowed").Verified && n.rule("counted").Verified
	}, 20*time.Second)
	return s, n
}

// countedRule is a rule with a watermark that does not run by itself.
const countedRule = `
version: 1
rules:
  - id: counted
    mode: event
    schedule: {cron: "@every 1h"}
    source: wms
    probe:
      sql: SELECT CAST(rowid AS INTEGER) AS id, bin_code, sku, qty FROM bin_stock WHERE rowid > :wm_id ORDER BY rowid
      watermark: {columns: [id], initial: {id: 0}}
    when: qty < 0
    key: [id]
    notice: {type: REP_NOTICE, warehouse: "'119240'", title: "Bin {{ .bin_code }}", fields: {bin: bin_code, sku: sku, qty: qty}}
    deliver: [{sink: inbox}]
`

// auditRule is a rule that does not run by itself.
var auditRule = strings.Replace(stockRule, "@every 1s", "@every 1h", 1)

// triedAgain is what changes of a delivery that is tried again and again.
var triedAgain = regexp.MustCompile(`"(attempts":\d+|(lastError|nextAttempt|node)":"[^"]*"),?`)

// settings is all that a recorded operation may change, as a text to compare.
func (n *node) settings() string {
	n.t.Helper()
	var all strings.Builder
	for _, path := range []string{"/types", "/subscriptions?limit=1000", "/subscribers?limit=1000", "/deliveries?limit=1000", "/silences", "/tokens?ended=true", "/rules/negative-bin-stock/runs"} {
		_, body := n.do(http.MethodGet, "/api/v1"+path, "application/json", "")
		all.WriteString(triedAgain.ReplaceAllString(body, ""))
	}
	r := n.status()
	for i := range r.Rules {
		one := &r.Rules[i]
		fmt.Fprintln(&all, one.ID, one.Enabled, one.Promoted != nil, one.Switch != nil, one.Stale)
	}
	fmt.Fprintln(&all, r.Paused != nil)
	_, queues := n.do(http.MethodGet, "/api/v1/queues", "application/json", "")
	fmt.Fprintln(&all, strings.Count(queues, `"paused":true`), strings.Count(queues, `"lease":"1m30s"`))
	return all.String()
}

// ledgerLacks checks that the drain has tried in vain, and that no record was written.
func (s *site) ledgerLacks(n *node, before int) {
	s.t.Helper()
	<-time.After(300 * time.Millisecond) // the drain runs ten times a second
	if got := len(n.audit("")); got != before {
		s.t.Errorf("%d records were written all the same", got-before)
	}
}

// refuseRecords makes the site's ledger refuse the records of changes, or lets it take them again.
func (s *site) refuseRecords(refuse bool) {
	s.t.Helper()
	driver, dsn := "sqlite", "file:"+s.cfg.Ledger.Path+"?_pragma=busy_timeout(10000)"
	if s.cfg.Ledger.Driver == config.Postgres {
		driver, dsn = "pgx", s.cfg.Ledger.URL.Reveal()
	}
	ledgertest.RefuseRecords(s.t, driver, dsn, refuse)
}

func (n *node) must(method, path, body string) {
	n.t.Helper()
	if code, answer := n.do(method, "/api/v1"+path, "application/json", body); code >= http.StatusMultipleChoices {
		n.t.Fatalf("%s %s answers %d: %s", method, path, code, answer)
	}
}

// withholdClock has the ledger's clock a little ahead of what nodes go by.
func (s *site) withholdClock() { s.ledgerExec("UPDATE clock SET withheld = 60000000") }

// lists has the source wms list nothing. Where it has listed one subscription before, the list waits.
func (s *site) lists(before bool) {
	s.t.Helper()
	s.ledgerExec("INSERT INTO origins (kind, name, token, asked, waits, waits_since) VALUES ('subscriptions', 'wms', 1, 1, '[]', 1) ON CONFLICT DO NOTHING")
	if before {
		s.ledgerExec("INSERT INTO subscriptions (type, warehouse, subscriber, origin) VALUES ('REP_NOTICE', 'of', 'user:of', 'wms')")
	}
}

// ledgerExec runs a statement on the site's ledger beside its nodes.
func (s *site) ledgerExec(statement string) {
	s.t.Helper()
	driver, dsn := "sqlite", "file:"+s.cfg.Ledger.Path+"?_pragma=busy_timeout(10000)"
	if s.cfg.Ledger.Driver == config.Postgres {
		driver, dsn = "pgx", s.cfg.Ledger.URL.Reveal()
	}
	db, err := sql.Open(driver, dsn)
	if err == nil {
		_, err = db.ExecContext(s.t.Context(), statement)
	}
	if err != nil {
		s.t.Fatal(err)
	}
	_ = db.Close()
}

// changingOperations are those of the OpenAPI document that are to leave a record, in an order in which they can be
// done.
func (n *node) changingOperations() []string {
	n.t.Helper()
	_, body := n.do(http.MethodGet, "/openapi.json", "application/json", "")
	var doc struct {
		Paths map[string]map[string]struct{ OperationID string }
	}
	if err := json.Unmarshal([]byte(body), &doc); err != nil {
		n.t.Fatal(err)
	}
	there := map[string]bool{}
	for _, item := range doc.Paths {
		for method, op := range item {
			there[op.OperationID] = method != "get"
		}
	}
	for _, id := range notAudited {
		delete(there, id)
	}
	take := func(ids []string) (list []string) {
		for _, id := range ids {
			if there[id] {
				list = append(list, id)
			}
			delete(there, id)
		}
		return list
	}
	first, last := take(auditFirst), take(auditLast)
	var rest []string
	for id, changes := range there {
		if changes {
			rest = append(rest, id)
		}
	}
	return append(append(first, rest...), last...)
}

// changeJSON is a record as the API has it.
type changeJSON struct {
	By, Via, Action, Object, Reason string
	Before, After                   json.RawMessage
}

// audit lists the records of an object, the latest first.
func (n *node) audit(object string) []changeJSON {
	n.t.Helper()
	code, body := n.do(http.MethodGet, "/api/v1/audit?limit=1000&object="+url.QueryEscape(object), "application/json", "")
	var page struct{ Changes []changeJSON }
	if code != http.StatusOK || json.Unmarshal([]byte(body), &page) != nil {
		n.t.Fatalf("%d %s", code, body)
	}
	return page.Changes
}

// aDelivery is the number of the latest delivery to the gateway.
func (n *node) aDelivery() string {
	n.t.Helper()
	_, body := n.do(http.MethodGet, "/api/v1/deliveries?sink=gateway&limit=1", "application/json", "")
	var page struct{ Deliveries []struct{ ID json.Number } }
	if err := json.Unmarshal([]byte(body), &page); err != nil || len(page.Deliveries) == 0 {
		n.t.Fatalf("%v %s", err, body)
	}
	return page.Deliveries[0].ID.String()
}
