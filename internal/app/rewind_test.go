package app_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"tallyman/internal/testenv"
	"tallyman/internal/wire"
)

// movesRule is a rule of mode event whose column of times is declared: SQLite has it as text.
const movesRule = `
version: 1
rules:
  - id: moves
    mode: event
    schedule: {cron: "@every 1s"}
    source: wms
    probe:
      sql: SELECT id, bin_code, made FROM moves WHERE (made, id) > (:wm_made, :wm_id) ORDER BY made, id
      columns: {made: {type: time, format: "2006-01-02T15:04:05Z"}}
      watermark: {columns: [made, id], initial: {made: "2026-01-01T00:00:00Z", id: 0}}
    key: [id]
    notice: {type: REP_NOTICE, warehouse: "'119240'", title: "Bin {{ .bin_code }}", fields: {bin: bin_code, qty: id}}
    deliver: [{sink: inbox}]
`

// answer returns the answer of a request, which must succeed.
func (n *node) answer(method, path, body string) string {
	n.t.Helper()
	code, answer := n.do(method, "/api/v1"+path, "application/json", body)
	if code >= http.StatusMultipleChoices {
		n.t.Fatalf("%s %s answers %d: %s", method, path, code, answer)
	}
	return answer
}

// rewound asks for a rewind of the rule and expects an answer.
func (n *node) rewound(body string) wire.RewoundForm {
	n.t.Helper()
	var form wire.RewoundForm
	if err := json.Unmarshal([]byte(n.answer(http.MethodPost, "/rules/moves/rewind", body)), &form); err != nil {
		n.t.Fatal(err)
	}
	return form
}

// told returns the keys of the moves with a notice.
func (n *node) told() string {
	n.t.Helper()
	var page struct{ Notices []struct{ Key string } }
	if err := json.Unmarshal([]byte(n.answer(http.MethodGet, "/notices/search?rule=moves&limit=100", "")), &page); err != nil {
		n.t.Fatal(err)
	}
	var keys []string
	for _, one := range page.Notices {
		keys = append(keys, one.Key)
	}
	return strings.Join(keys, " ")
}

// A row with a far time, a mistake, keeps later rows from being read. After a rewind these rows get their notices,
// once. The rewind is audited. Rows that have a notice get no other one.
func TestRewindOfANode(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	wms := s.sqliteWMS()
	wms.exec(`CREATE TABLE moves (id INTEGER PRIMARY KEY, bin_code TEXT NOT NULL, made TEXT NOT NULL);
		INSERT INTO moves VALUES (1, 'A', '2026-03-01T08:00:00Z'), (2, 'B', '2026-09-01T08:00:00Z')`)
	s.rule("moves.yaml", movesRule)
	n := s.start("one")
	testenv.Eventually(t, func() bool { return strings.Count(n.told(), "[") == 2 }, 30*time.Second)
	wms.exec(`INSERT INTO moves VALUES (3, 'C', '2026-04-01T08:00:00Z'), (4, 'D', '2026-04-01T08:00:00Z')`)

	form := n.rewound(`{"to":["2026-04-01T08:00:00Z,3"],"dryRun":true}`)
	if f := form.Scopes[0]; f.Moved || f.Follows == nil || *f.Follows != (wire.RewindCountsForm{Rows: 2, Matched: 2, Told: 1, Notices: 1}) || *f.Watermark[0].Before != "2026-09-01T08:00:00Z" || *f.Watermark[1].After != "3" {
		t.Errorf("%+v %+v", f, f.Follows)
	}
	if code, answer := n.do(http.MethodPost, "/api/v1/rules/moves/rewind", "application/json", `{"to":["4711,x"],"reason":"no"}`); code != http.StatusUnprocessableEntity || !strings.Contains(answer, "a time, as 2026-06-01T00:00:00Z") {
		t.Errorf("%d %s", code, answer)
	}
	testenv.Eventually(t, func() bool { // a firing may run just then
		code, answer := n.do(http.MethodPost, "/api/v1/rules/moves/rewind", "application/json", `{"to":["2026-04-01T08:00:00Z","3"],"reason":"a far time"}`)
		if code == http.StatusConflict && strings.Contains(answer, "rule_busy") {
			return false
		}
		return code == http.StatusOK
	}, 30*time.Second)
	testenv.Eventually(t, func() bool { return strings.Count(n.told(), "[") == 3 }, 30*time.Second)
	if got := n.told(); !strings.Contains(got, "[4]") {
		t.Errorf("told %s", got)
	}
	var moved []string
	for _, c := range n.audit("") {
		if c.Action == "rule.rewind" {
			moved = append(moved, fmt.Sprint(string(c.Before), string(c.After), c.Reason))
		}
	}
	const want = `{"rule":"moves","scope":"","position":{"id":"2","made":"2026-09-01T08:00:00Z"}}{"rule":"moves","scope":"","position":{"id":"3","made":"2026-04-01T08:00:00Z"}}a far time`
	if len(moved) != 1 || moved[0] != want {
		t.Errorf("%q", moved)
	}
}

// A change of initial has no effect once the rule has run. The node says so until the watermark is moved, and so does
// rules check.
func TestInitialWithoutEffect(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	wms := s.sqliteWMS()
	wms.exec(`CREATE TABLE moves (id INTEGER PRIMARY KEY, bin_code TEXT NOT NULL, made TEXT NOT NULL); INSERT INTO moves VALUES (1, 'A', '2026-03-01T08:00:00Z')`)
	s.rule("moves.yaml", movesRule)
	n := s.start("one")
	says := func() bool {
		status := strings.Join(n.rule("moves").Warnings, " ")
		source := n.answer(http.MethodGet, "/rules/moves/source", "")
		if strings.Count(source, "initial_without_effect") > 1 {
			t.Errorf("%s", source)
		}
		return strings.Contains(status, "initial_without_effect: ") && strings.Contains(status, "rules rewind moves --to=2026-02-01T00:00:00Z,0") &&
			strings.Contains(source, `"initial_without_effect"`)
	}
	silent := func() bool {
		return len(n.rule("moves").Warnings) == 0 && !strings.Contains(n.answer(http.MethodGet, "/rules/moves/source", ""), "initial_without_effect")
	}
	testenv.Eventually(t, func() bool { return strings.Count(n.told(), "[") == 1 }, 30*time.Second)
	if !silent() {
		t.Errorf("%+v", n.rule("moves"))
	}
	s.rule("moves.yaml", strings.Replace(movesRule, `made: "2026-01-01T00:00:00Z", id`, `made: "2026-02-01T00:00:00Z", id`, 1))
	testenv.Eventually(t, says, 30*time.Second)
	testenv.Eventually(t, func() bool {
		code, _ := n.do(http.MethodPost, "/api/v1/rules/moves/rewind", "application/json", `{"to":["2026-02-01T00:00:00Z","0"],"reason":"as the file says"}`)
		return code == http.StatusOK
	}, 30*time.Second)
	testenv.Eventually(t, silent, 30*time.Second)
}
