package app_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"tallyman/internal/testenv"
	"tallyman/internal/wire"
)

// listedRule looks every second for bins below the threshold of each warehouse that the table has.
const listedRule = `
version: 1
rules:
  - id: low-stock
    schedule: {cron: "@every 1s"}
    scopes:
      source: wms
      sql: SELECT wh_id AS name, tz AS timezone, min_qty AS threshold FROM warehouses WHERE active
      every: 10s
    source: wms
    probe:
      sql: SELECT bin_code, sku, qty FROM bin_stock WHERE wh_id = CAST(:scope AS BIGINT) AND qty < :threshold
      params: {threshold: 10}
    key: [bin_code, sku]
    notice:
      type: REP_NOTICE
      title: "Bin {{ .bin_code }} is at {{ .qty }}"
      fields: {bin: bin_code, sku: sku, qty: qty}
      send_resolved: true
    deliver: [{sink: inbox}]
`

// asksNow lets a node ask for the lists of scopes soon, whenever one was asked for last.
func (s *site) asksNow() { s.ledgerExec("UPDATE origins SET asked = 0 WHERE settled = 1") }

// scopes are those of the rule on the node, with the thresholds left out.
func (n *node) scopes() string {
	n.t.Helper()
	var names []string
	for _, r := range n.status().Rules {
		names = append(names, r.Scope)
	}
	return strings.Join(names, " ")
}

// listed is how the scopes of the rule stand.
func (n *node) listed() wire.ScopeOriginForm {
	n.t.Helper()
	var form wire.ScopeOriginsForm
	n.asks(http.MethodGet, "/scopes", "", &form)
	if len(form.Origins) != 1 {
		n.t.Fatalf("%+v", form)
	}
	return form.Origins[0]
}

// saysOfScopes is what the node says of the scopes of the rule, in the status and to the balancer.
func (n *node) saysOfScopes() (said string, readyz bool) {
	n.t.Helper()
	for _, h := range n.status().Health {
		if h.Part == "scopes" && !h.OK {
			said = h.Error
		}
	}
	_, body := n.do(http.MethodGet, "/readyz", "application/json", "")
	return said, strings.Contains(body, "scopes low-stock")
}

// titles are those of the notices of a warehouse, sorted.
func (n *node) titles(warehouse string) string {
	n.t.Helper()
	_, page := n.poll(url.Values{"warehouse": {warehouse}})
	var titles []string
	for _, notice := range page.Notices {
		titles = append(titles, notice.Status+" "+notice.Title)
	}
	slices.Sort(titles)
	return strings.Join(titles, "; ")
}

// TestScopesComeFromASource: two nodes on real servers. A warehouse appears, changes its threshold and disappears; the
// query fails; half of the warehouses are gone.
func TestScopesComeFromASource(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.realServers()
	wms := s.postgresWMS()
	wms.exec("CREATE TABLE warehouses (wh_id text, tz text, min_qty int, active boolean DEFAULT true)")
	wms.exec("INSERT INTO bin_stock VALUES (1, 'A-01', 'S1', 7), (2, 'B-01', 'S1', 7), (3, 'C-01', 'S1', 7), (4, 'D-01', 'S1', 7)")
	s.rule("low.yaml", listedRule)
	one, two := s.start("node-1"), s.start("node-2")
	soon := func(what string, ok func() bool) {
		t.Helper()
		s.asksNow()
		testenv.Eventually(t, ok, 30*time.Second)
		t.Log(what)
	}

	// An empty first list waits: the rule runs nowhere, loudly.
	soon("the empty list waits", func() bool {
		said, readyz := two.saysOfScopes()
		return strings.HasPrefix(said, "scopes_wait: an empty list waits; with it the rule would run nowhere") && readyz
	})
	if r := one.status().Rules; len(r) != 1 || r[0].Scope != "" || r[0].Verified || !strings.HasPrefix(r[0].Reason, "scopes_unknown: the rule waits for its scopes") {
		t.Errorf("%+v", r)
	}
	if code, body := one.do(http.MethodPost, "/api/v1/rules/low-stock/run", "application/json", ""); code != http.StatusConflict || problemOf(body).Code != string(wire.CodeRuleUnverified) {
		t.Errorf("%d %s", code, body)
	}

	// Warehouses appear. One has no threshold: the rule's own holds. One has a lower one.
	wms.exec("INSERT INTO warehouses VALUES ('1', 'Asia/Shanghai', NULL), ('2', NULL, 5), ('3', '', NULL)")
	soon("warehouses appear", func() bool {
		return one.scopes() == "1 2 3" && two.scopes() == "1 2 3" && two.titles("1") == "firing Bin A-01 is at 7" && two.titles("3") == "firing Bin C-01 is at 7"
	})
	if got := two.titles("2"); got != "" {
		t.Errorf("told %s", got)
	}
	if o := two.listed(); !o.Listed || o.Scopes != 3 || o.Source != "wms" || o.Waits != nil || o.Error != "" {
		t.Errorf("%+v", o)
	}

	// A warehouse changes its threshold.
	wms.exec("UPDATE warehouses SET min_qty = 8 WHERE wh_id = '2'")
	soon("a threshold changes", func() bool { return one.titles("2") == "firing Bin B-01 is at 7" })

	// The query fails, and then returns a row that is no scope: the last list stays, loudly.
	wms.exec("ALTER TABLE warehouses RENAME COLUMN tz TO zone")
	soon("the query fails", func() bool {
		said, readyz := one.saysOfScopes()
		return strings.HasPrefix(said, "scopes_fail: the scopes stay as they were: ") && strings.Contains(said, "tz") && readyz
	})
	wms.exec("ALTER TABLE warehouses RENAME COLUMN zone TO tz; INSERT INTO warehouses VALUES ('1', NULL, NULL)")
	soon("a name is there twice", func() bool {
		said, _ := one.saysOfScopes()
		return strings.Contains(said, "1 of 4 rows are not valid scopes: row 4: name: 1 is in row ")
	})
	_, text := two.do(http.MethodGet, "/metrics", "text/plain", "")
	if line := `tallyman_list_failing{list="scopes",name="low-stock"} 1`; !strings.Contains(text, line) {
		t.Errorf("no %s", line)
	}
	wms.exec("DELETE FROM warehouses WHERE wh_id = '1' AND tz IS NULL")
	soon("all is well again", func() bool { said, _ := one.saysOfScopes(); return said == "" && one.scopes() == "1 2 3" })

	// A warehouse disappears: its findings are closed as those of a removed rule. Nothing happens to the others.
	wms.exec("UPDATE warehouses SET active = false WHERE wh_id = '3'")
	s.asksNow()
	testenv.Eventually(t, func() bool {
		return two.scopes() == "1 2" && two.titles("3") == "firing Bin C-01 is at 7; resolved Resolved, rule removed: Bin C-01 is at 7"
	}, 90*time.Second)

	// All warehouses but a new one are gone: the list waits, and nothing changes before an operator has confirmed it.
	wms.exec("UPDATE warehouses SET active = false; INSERT INTO warehouses VALUES ('4', NULL, NULL)")
	soon("a list waits", func() bool {
		said, _ := two.saysOfScopes()
		return strings.HasPrefix(said, "scopes_wait: a waiting list would remove 2 of 2 scopes")
	})
	waits := two.listed().Waits
	if waits == nil || waits.Added != 1 || !slices.Equal(waits.Removing, []string{"1", "2"}) || two.scopes() != "1 2" {
		t.Fatalf("%+v, %s", waits, two.scopes())
	}
	code, body := two.do(http.MethodPost, "/api/v1/scopes/low-stock/confirm", "application/json", `{"hash":"another"}`)
	if code != http.StatusConflict || problemOf(body).Code != string(wire.CodeListChanged) {
		t.Errorf("%d %s", code, body)
	}
	if code, body := two.do(http.MethodDelete, "/api/v1/scopes/low-stock", "application/json", ""); code != http.StatusConflict || problemOf(body).Code != string(wire.CodeOriginConfigured) {
		t.Errorf("%d %s", code, body)
	}
	var confirmed wire.ConfirmedListForm
	two.asks(http.MethodPost, "/scopes/low-stock/confirm", fmt.Sprintf(`{"hash":%q}`, waits.Hash), &confirmed)
	if confirmed.Added != 1 || confirmed.Removed != 2 {
		t.Errorf("%+v", confirmed)
	}
	testenv.Eventually(t, func() bool {
		return one.scopes() == "4" && one.titles("4") == "firing Bin D-01 is at 7" && strings.Contains(one.titles("1"), "resolved ") && strings.Contains(one.titles("2"), "resolved ")
	}, 90*time.Second)

	// A node that starts has the list at once, and nothing of it is closed.
	one.stop()
	wms.exec("DROP TABLE warehouses")
	if three := s.start("node-3"); three.scopes() != "4" {
		t.Errorf("scopes %s", three.scopes())
	}

	// Without the rule the list is of no effect, and an operator may forget it.
	s.remove("low.yaml")
	testenv.Eventually(t, func() bool { return two.scopes() == "" }, 30*time.Second)
	if code, body := two.do(http.MethodDelete, "/api/v1/scopes/low-stock", "application/json", ""); code != http.StatusNoContent {
		t.Errorf("%d %s", code, body)
	}
	if code, body := two.do(http.MethodDelete, "/api/v1/scopes/low-stock", "application/json", ""); code != http.StatusNotFound || problemOf(body).Code != string(wire.CodeOriginNotFound) {
		t.Errorf("%d %s", code, body)
	}
}

// TestManyScopes: a list of 30,000 warehouses, of which one changes. The rule is disabled, so that nothing runs.
func TestManyScopes(t *testing.T) {
	t.Parallel()
	const many = 30_000
	s := newSite(t)
	wms := s.sqliteWMS()
	wms.exec("CREATE TABLE warehouses (wh_id INTEGER, tz TEXT, min_qty INTEGER, active INTEGER)")
	wms.exec(fmt.Sprintf("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT %d) INSERT INTO warehouses SELECT i, 'Asia/Shanghai', i, 1 FROM n", many))
	s.rule("low.yaml", strings.Replace(listedRule, "    source: wms\n    probe", "    enabled: false\n    source: wms\n    probe", 1))
	n := s.start("node-1")
	version := func() string { return n.status().Nodes[0].Rules }
	testenv.Eventually(t, func() bool { return len(n.status().Rules) == many }, 60*time.Second)
	before := version()
	wms.exec("UPDATE warehouses SET min_qty = 7 WHERE wh_id = 5")
	s.asksNow()
	testenv.Eventually(t, func() bool { return version() != before }, 60*time.Second)
	if o := n.listed(); o.Scopes != many || o.Error != "" {
		t.Errorf("%+v", o)
	}
}

// TestDraftOfScopes: a draft that asks another question shows the scopes that the source lists for it; one that does
// not has the list in force.
func TestDraftOfScopes(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	wms := s.sqliteWMS()
	wms.exec("CREATE TABLE warehouses (wh_id INTEGER, tz TEXT, min_qty INTEGER, active INTEGER)")
	wms.exec("INSERT INTO warehouses VALUES (1, NULL, NULL, 1), (2, NULL, 5, 1), (9, NULL, NULL, 0)")
	wms.exec("INSERT INTO bin_stock VALUES (2, 'B-01', 'S1', 7), (9, 'I-01', 'S1', 7)")
	rule := strings.ReplaceAll(listedRule, "BIGINT", "INTEGER")
	s.rule("low.yaml", rule)
	n := s.start("node-1")
	testenv.Eventually(t, func() bool { return n.scopes() == "1 2" }, 30*time.Second)
	entry := strings.TrimRight(rule[strings.Index(rule, "  - id:"):], "\n")
	drafts := func(scope string, change ...string) (code int, d draftAnswer) {
		body, err := json.Marshal(map[string]any{"text": strings.NewReplacer(change...).Replace(entry), "scope": scope, "limit": 5})
		if err != nil {
			t.Fatal(err)
		}
		return n.post("/rules/low-stock/draft", string(body), &d), d
	}
	for _, c := range []struct {
		scope   string
		change  []string
		code    int
		matched int
		problem string
	}{
		{"2", nil, http.StatusOK, 0, ""},
		{"2", []string{"AND qty < :threshold", "AND qty < :threshold + 3"}, http.StatusOK, 1, ""},
		{"9", nil, http.StatusNotFound, 0, ""},
		{"9", []string{"WHERE active", "WHERE 1 = 1"}, http.StatusOK, 1, ""},
		{"9", []string{"AS threshold FROM", "AS treshold FROM"}, http.StatusOK, 0, "scopes_fail"},
		{"9", []string{"FROM warehouses", "FROM nowhere"}, http.StatusOK, 0, "probe_invalid"},
	} {
		code, d := drafts(c.scope, c.change...)
		switch {
		case code != c.code:
			t.Errorf("%v: %d", c, code)
		case c.problem != "" && (len(d.Problems) != 1 || d.Problems[0].Code != c.problem || d.Problems[0].Line != 5):
			t.Errorf("%v: %+v", c, d.Problems)
		case c.problem == "" && code == http.StatusOK && (len(d.Problems) > 0 || d.Preview == nil || d.Preview.Counts.Matched != c.matched):
			t.Errorf("%v: %+v", c, d)
		}
	}
}
