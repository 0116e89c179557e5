package preview_test

import (
	"strings"
	"testing"
	"time"

	"tallyman/engine/trial/preview"
	"tallyman/rules/row"
)

// groupRule tells the bins of a SKU together.
var groupRule = []string{"key:", "group_by: [wh_id, sku]\n    key:", `title: {en: "Bin {{ .bin }} is at {{ .qty }}", zh: "货位 {{ .bin }}"}`, `title: "{{ .sku }}: {{ .row_count }} bins"`, `body: {en: "Refill {{ .sku }}"}`, `body: "{{ range .rows }}{{ .bin }} {{ end }}"`}

func TestAGroupIsToldAsOne(t *testing.T) {
	t.Parallel()
	rule := ruleOf(t, stockRule, groupRule...)
	rows := [][]row.Value{stock("A", "S1", "-3"), stock("B", "S1", "-1"), stock("C", "S2", "-1")}
	r := site{rows: rows}.preview(t, rule).Report
	is(t, "rows", rowsOf(r), `
1 true | fires | group
2 true | fires | group
3 true | fires | group
`)
	if len(r.Notices) != 2 || r.Notices[0].Title != "S1: 2 bins" || r.Notices[0].Body != "A B" || r.Notices[0].Count != 2 || r.Rows[1].Notice != r.Notices[0].ID {
		t.Errorf("%+v", r.Notices)
	}
	// Another bin joins: all of the group are told again, the other group is not.
	k := after(t, rule, stockColumns, due.Add(-5*time.Minute), rows)
	r = site{ledger: k, rows: append(rows, stock("D", "S1", "-9"))}.preview(t, rule).Report
	is(t, "rows", rowsOf(r), `
1 true | told_again | group
2 true | told_again | group
3 true | goes_on
4 true | fires | group
`)
}

// A group whose key reads like a digest's is none.
func TestAGroupThatReadsLikeADigest(t *testing.T) {
	t.Parallel()
	rule := ruleOf(t, stockRule, append([]string{"key:", "group_by: [sku, wh_id]\n    key:"}, groupRule[2:]...)...)
	r := site{rows: [][]row.Value{stock("A", "digest", "-3")}}.preview(t, rule).Report
	is(t, "rows", rowsOf(r), `
1 true | fires | group
`)
}

func TestADigestTellsTheRest(t *testing.T) {
	t.Parallel()
	rule := ruleOf(t, stockRule, "key:", "limit: {notices: 1}\n    key:")
	rows := [][]row.Value{stock("A", "S1", "-3"), stock("B", "S1", "-1"), stock("C", "S2", "-1")}
	r := site{rows: rows}.preview(t, rule).Report
	is(t, "rows", rowsOf(r), `
1 true | fires
2 true | fires | digest
3 true | fires | digest
`)
	if len(r.Notices) != 2 || !strings.HasPrefix(r.Notices[1].Title, "2 more: ") || r.Notices[1].Count != 2 {
		t.Errorf("%+v", r.Notices)
	}
	events := ruleOf(t, countRule, "key:", "limit: {notices: 1}\n    key:")
	r = site{columns: countColumns, rows: [][]row.Value{counted(1, 5), counted(2, 4), counted(3, 3)}}.preview(t, events).Report
	is(t, "rows", rowsOf(r), `
1 true | event
2 true | event | digest
3 true | event | digest
`)
}

// Each row is in the digest of its own warehouse, and a digest has as many rows as it counts.
func TestDigestsOfWarehouses(t *testing.T) {
	t.Parallel()
	events := ruleOf(t, countRule, "key:", "limit: {notices: 1}\n    key:", `"'1'"`, `"diff > 0 ? '1' : '2'"`)
	r := site{columns: countColumns, rows: [][]row.Value{counted(1, 5), counted(2, -4), counted(3, 3), counted(3, 3)}}.preview(t, events).Report
	is(t, "rows", rowsOf(r), `
1 true | event
2 true | event | digest
3 true | event | digest
4 true | repeated
`)
	if n := r.Notices; len(n) != 3 || r.Rows[1].Notice != n[2].ID || n[2].Warehouse != "2" || r.Rows[2].Notice != n[1].ID {
		t.Errorf("rows %+v in %+v", r.Rows, n)
	}
}

// A finding with a notice of its own keeps it when a digest reminds of the finding.
func TestAReminderInADigest(t *testing.T) {
	t.Parallel()
	rule := ruleOf(t, stockRule, "key:", "limit: {notices: 1}\n    repeat_interval: 5m\n    key:")
	k := after(t, rule, stockColumns, due.Add(-5*time.Minute), [][]row.Value{stock("B", "S1", "-1")})
	r := site{ledger: k, rows: [][]row.Value{stock("A", "S1", "-3"), stock("B", "S1", "-1")}}.preview(t, rule).Report
	is(t, "rows", rowsOf(r), `
1 true | fires
2 true | told_again | digest
`)
	if n := r.Notices; len(n) != 2 || r.Rows[1].Notice != n[1].ID {
		t.Errorf("rows %+v in %+v", r.Rows, n)
	}
}

// The result as a whole is judged, and its rows are shown.
func TestAResult(t *testing.T) {
	t.Parallel()
	rule := ruleOf(t, stockRule, "key: [wh_id, bin]", "per: result", "when: qty < 0 and not (sku startsWith \"TEST-\")", `when: row_count > 1 and any(rows, .qty < -2)`,
		`title: {en: "Bin {{ .bin }} is at {{ .qty }}", zh: "货位 {{ .bin }}"}`, `title: "{{ .row_count }} bins"`, `body: {en: "Refill {{ .sku }}"}`, `body: "{{ range .rows }}{{ .bin }} {{ end }}"`,
		"warehouse: wh_id", `warehouse: "'W1'"`, "fields: {bin: bin, qty: qty}", "fields: {qty: \"sum(map(rows, .qty))\"}")
	r := site{rows: [][]row.Value{stock("A", "S1", "-3"), stock("B", "S1", "-1")}}.preview(t, rule).Report
	if r.Result == nil || !r.Result.Match || r.Result.Fate != preview.Fires || len(r.Rows) != 2 || len(r.Notices) != 1 || r.Notices[0].Body != "A B" || len(r.Findings) != 0 {
		t.Errorf("%+v", r)
	}
	r = site{rows: [][]row.Value{stock("A", "S1", "-1"), stock("B", "S1", "-1")}}.preview(t, rule).Report
	if r.Result.Match || r.Result.Fate != "" || len(r.Result.Because) != 1 || r.Result.Because[0] != "any(rows, .qty < -2) is false" {
		t.Errorf("%+v", r.Result)
	}
}

// Recorded tests of rules with groups, limits, or a result that is judged as a whole.
func TestRecordedGroupsDigestsAndResults(t *testing.T) {
	t.Parallel()
	rows := [][]row.Value{stock("A", "S1", "-3"), stock("B", "S1", "-1"), stock("C", "S2", "-1")}
	f := folderOf(t, stockRule, groupRule...)
	if text, _ := f.record(t, site{rows: rows}.preview(t, f.rule), "bin", "sku"); !strings.Contains(text, `title: "sku-1: 2 bins"`) || !strings.Contains(text, "count: 2") {
		t.Error(text)
	}
	f = folderOf(t, stockRule, "key:", "limit: {notices: 1}\n    key:")
	if text, _ := f.record(t, site{rows: rows}.preview(t, f.rule)); !strings.Contains(text, "2 more: ") {
		t.Error(text)
	}
}
