package app_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"tallyman/internal/auth"
	"tallyman/internal/config"
	"tallyman/internal/ledger"
	"tallyman/internal/testenv"
)

// marker stands in every text that is about warehouse 119241.
const marker = "XQZMARKER"

// narrowRules look at two warehouses, at one, and at all; the second's own words are about that one.
const narrowRules = `
version: 1
defaults:
  schedule: {cron: "@every 1s"}
  source: wms
  probe: {sql: "SELECT wh_id, bin_code, sku, qty, CAST(NULLIF(bin_code, sku) AS TEXT) AS bin FROM bin_stock WHERE qty < 0 AND wh_id = :scope"}
  key: [wh_id, bin_code]
  notice: {type: REP_NOTICE, warehouse: wh_id, title: "Bin {{ .bin_code }}", fields: {bin: bin, sku: sku, qty: qty}}
  deliver: [{sink: inbox}, {sink: gateway, strategy: important}]
rules:
  - {id: both, scopes: [{name: "119240"}, {name: "119241"}]}
  - {id: theirs, title: XQZMARKER, description: XQZMARKER, scopes: [{name: "119241"}]}
  - id: all
    probe: {sql: "SELECT wh_id, bin_code, sku, qty, CAST(NULLIF(bin_code, sku) AS TEXT) AS bin FROM bin_stock WHERE qty < 0"}
`

// narrowSite is a site with something of everything in two warehouses.
func narrowSite(t *testing.T) (n *node, admin string) {
	t.Helper()
	s, gateway := newSite(t), receive(t)
	gateway.say(func(w http.ResponseWriter, r *http.Request) {
		if gateway.warehouse(r.Header.Get("Idempotency-Key")) == "119241" {
			http.Error(w, "no room for "+marker, http.StatusServiceUnavailable)
		}
	})
	s.webhook("gateway", gateway.server.URL)
	s.realServers()
	wms := s.sqliteWMS()
	s.cfg.Auth = config.Auth{Mode: config.AuthToken}
	s.rule("rules.yaml", narrowRules)
	s.rule("broken.yaml", "version: 1\nrules: [{id: torn, "+marker+": 1}]\n")
	s.rule("torn.yaml", "version: 1\n"+marker+": 1\n")
	wms.exec(`INSERT INTO bin_stock VALUES (119240, 'A-01', 'S1', -3), (119241, '` + marker + `-1', 'S1', -3), (119241, '` + marker + `-2', '` + marker + `-2', -3)`)
	n = s.start("one")
	l := s.openLedger()
	for name, spec := range map[string]auth.Spec{
		"admin": {Subject: "user:root", Access: []auth.Role{auth.Admin}},
		"other": {Name: marker, Subject: "user:" + marker, Access: []auth.Role{auth.Operator}, Warehouses: []string{"119241"}},
	} {
		token, secret, faults := auth.NewToken(spec, "local:root", time.Now())
		if err := l.AddToken(t.Context(), ledger.Author{By: "local:root", Via: ledger.ViaLocal}, token); err != nil || len(faults) > 0 {
			t.Fatal(err, faults)
		}
		if name == "admin" {
			admin = secret
		}
	}
	testenv.Eventually(t, func() bool {
		status, _ := n.with(admin, http.MethodGet, "/tokens")
		return status == http.StatusOK
	}, 20*time.Second)
	return n, admin
}

// warehouse returns the warehouse of the notice with the key.
func (p *posts) warehouse(key string) any {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.bodies[slices.Index(p.keys, key)]["warehouse"]
}

// fill adds to the site what only requests can add.
func (n *node) fill(token string) {
	n.t.Helper()
	for _, c := range [][2]string{
		{"/silences", `{"matchers":["warehouse=119241","bin=none"],"for":"1h","comment":"` + marker + `"}`},
		{"/silences", `{"matchers":["warehouse=~.*41","bin=none"],"for":"1h","comment":"` + marker + `"}`},
		{"/silences", `{"matchers":["scope=119241","bin=none"],"for":"1h","comment":"` + marker + `"}`},
		{"/silences", `{"matchers":["rule=theirs","bin=none"],"for":"1h","comment":"` + marker + `"}`},
		{"/silences", `{"matchers":["warehouse=~1192.*","bin=none"],"for":"1h","comment":"everybody's"}`},
		{"/silences", `{"matchers":["rule=both","scope!=119241","bin=none"],"for":"1h","comment":"not theirs"}`},
		{"/rules/both/enable?scope=119241", `{"reason":"` + marker + `"}`},
		{"/rules/theirs/enable", `{"reason":"` + marker + `"}`},
		{"/rules/all/enable", `{"reason":"everybody's switch"}`},
		{"/subscriptions", `{"type":"REP_NOTICE","warehouse":"119241","subscriber":"user:` + marker + `"}`},
		{"/notices", `{"notices":[{"type":"REP_NOTICE","warehouse":"119241","title":"` + marker + `","body":"` + marker + `","recipients":["user:1"],"data":{"bin":"` + marker + `"}}]}`},
	} {
		if status, text := n.do(http.MethodPost, "/api/v1"+c[0], "application/json", c[1], "Authorization", "Bearer "+token); status/100 != 2 {
			n.t.Fatalf("%s %s: %d %s", c[0], c[1], status, text)
		}
	}
}

// getOperation is a GET operation of the document.
type getOperation struct {
	path       string
	parameters []string // of the query
}

// gets returns the GET operations of the document, sorted by id.
func (n *node) gets(token string) map[string]getOperation {
	n.t.Helper()
	_, body := n.do(http.MethodGet, "/openapi.json", "application/json", "", "Authorization", "Bearer "+token)
	var doc struct {
		Paths map[string]map[string]struct {
			OperationID string
			Parameters  []struct{ Name, In string }
		}
	}
	if err := json.Unmarshal([]byte(body), &doc); err != nil {
		n.t.Fatal(err)
	}
	gets := map[string]getOperation{}
	for path, item := range doc.Paths {
		op, ok := item["get"]
		if !ok {
			continue
		}
		get := getOperation{path: path}
		for _, p := range op.Parameters {
			if p.In == "query" {
				get.parameters = append(get.parameters, p.Name)
			}
		}
		gets[op.OperationID] = get
	}
	return gets
}

var (
	pathParameter = regexp.MustCompile(`\{\w+\}`)
	anyID         = regexp.MustCompile(`"(?:id|name|code|sink|rule)":\s*"?([^",}]+)`)
)

// requests are all the ways in which the operation is asked for: of each id, with and without what narrows it, in each
// form. A query with a parameter that the operation does not take is refused for that alone, so the operation is asked
// with it only of the first id.
func (o getOperation) requests(ids []string) (list []string) {
	paths := []string{o.path}
	if hole := pathParameter.FindString(o.path); hole != "" {
		paths = nil
		for _, id := range ids {
			paths = append(paths, strings.Replace(o.path, hole, url.PathEscape(id), 1))
		}
	}
	for i, p := range paths {
		for _, query := range []string{
			"", "warehouse=119241", "warehouse=119240", "scope=119241", "scope=119240", "ended=true", "state=active", "rule=theirs", "type=REP_NOTICE", "q=" + marker,
			"key=" + url.QueryEscape(marker), "key=119241," + marker + "-1&scope=119241", "key=119241," + marker + "-1", "key=119240,A-01&scope=119240",
			"warehouse=119241&subscriber=role:keeper", "warehouse=119240&subscriber=shadow:both", "subscriber=user:1&warehouse=119241",
		} {
			if i == 0 || o.takes(query) {
				list = append(list, strings.TrimSuffix(p+"?"+query, "?"))
			}
		}
	}
	return list
}

func (o getOperation) takes(query string) bool {
	values, err := url.ParseQuery(query)
	for name := range values {
		if !slices.Contains(o.parameters, name) {
			return false
		}
	}
	return err == nil
}

// read is do for answers without an end: it gives up after a short time.
func (n *node) read(path, accept, token string) (int, string) {
	n.t.Helper()
	wait := 10 * time.Second
	if strings.Contains(path, "/stream") {
		wait = 300 * time.Millisecond
	}
	ctx, cancel := context.WithTimeout(n.t.Context(), wait)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, n.base+path, http.NoBody)
	if err != nil {
		n.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+token)
	req.Header.Set("Accept", accept)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, ""
	}
	defer func() { _ = resp.Body.Close() }()
	text, _ := io.ReadAll(resp.Body) // what came before the moment was over
	return resp.StatusCode, string(text)
}

// TestOneWarehouseSeesNothingOfAnother calls every GET operation for every object, with tokens for warehouse 119240
// alone. No answer has a text of warehouse 119241. An admin of all warehouses gets these texts from the same requests.
func TestOneWarehouseSeesNothingOfAnother(t *testing.T) {
	t.Parallel()
	n, admin := narrowSite(t)
	n.fill(admin)
	gets := n.gets(admin)
	ids := map[string]bool{}
	testenv.Eventually(t, func() bool { // the rules have run, and the gateway has answered
		_, deliveries := n.read("/api/v1/deliveries?sink=gateway&warehouse=119241", "application/json", admin)
		_, runs := n.read("/api/v1/rules/both/runs?scope=119241", "application/json", admin)
		_, sinks := n.read("/api/v1/sinks/gateway", "application/json", admin)
		return strings.Contains(deliveries, marker) && strings.Contains(runs, "degraded") && strings.Contains(sinks, marker)
	}, 60*time.Second)
	for id, op := range gets {
		// The document has names too, but of nothing that is there.
		if !strings.Contains(op.path, "{") && !strings.Contains(op.path, "/stream") && id != "openapi" {
			_, text := n.read(op.path, "application/json", admin)
			for _, found := range anyID.FindAllStringSubmatch(text, -1) {
				ids[found[1]] = true
			}
		}
	}
	known := slices.Sorted(maps.Keys(ids))
	if len(known) < 15 {
		t.Fatalf("hardly anything to ask for: %q", known)
	}
	for role, foreign := range map[string]bool{"viewer": true, "operator": true, "admin": true, "": false} {
		t.Run(role, func(t *testing.T) {
			t.Parallel()
			token := admin
			if foreign {
				token = n.newToken(admin, fmt.Sprintf(`{"subject":"user:%s","access":[%q],"warehouses":["119240"]}`, role, role))
			}
			has := map[string]bool{}
			for id, op := range gets {
				for _, request := range op.requests(known) {
					accept := "application/json"
					if strings.Contains(op.path, "/stream") {
						accept = "text/event-stream"
					}
					status, text := n.read(request, accept, token)
					if status/100 == 2 || !strings.Contains(request, marker) { // a refusal may repeat what it refuses
						has[id] = has[id] || strings.Contains(text, marker)
					}
					if foreign && has[id] {
						t.Fatalf("a %s of 119240 asks for %s and gets %s", role, request, text)
					}
				}
			}
			if foreign {
				return
			}
			for _, id := range []string{
				"list-silences", "get-silence", "list-rules", "get-rule", "get-rule-source", "list-findings", "list-runs", "why", "status", "overview", "stream-overview",
				"search-notices", "find", "get-notice", "list-deliveries", "get-delivery", "list-sinks", "get-sink", "list-subscriptions", "list-audit", "list-tokens",
			} {
				if !has[id] {
					t.Errorf("an admin of all warehouses sees no text of 119241 in %s: the test looks in the wrong place", id)
				}
			}
		})
	}
	for path, want := range map[string]string{
		"/silences": "everybody's", "/rules": "everybody's switch", "/rules/both": `"scope":"119240"`, "/status": `"id":"both"`,
	} {
		viewer := n.newToken(admin, `{"subject":"user:vic","access":["viewer"],"warehouses":["119240"]}`)
		if status, text := n.read("/api/v1"+path, "application/json", viewer); status != http.StatusOK || !strings.Contains(text, want) {
			t.Errorf("%s answers %d %s", path, status, text)
		}
	}
}

// newToken makes a token and returns its secret.
func (n *node) newToken(admin, body string) string {
	n.t.Helper()
	status, text := n.do(http.MethodPost, "/api/v1/tokens", "application/json", body, "Authorization", "Bearer "+admin)
	var made struct{ Secret string }
	if err := json.Unmarshal([]byte(text), &made); err != nil || made.Secret == "" {
		n.t.Fatal(status, text, err)
	}
	return made.Secret
}
