package preview_test

import (
	"strings"
	"testing"
	"time"

	"tallyman/rules/row"
)

// A preview shows that a first run takes the rows as known, and which changes cause notices later.
func TestBaseline(t *testing.T) {
	t.Parallel()
	rule := ruleOf(t, stockRule, "key: [wh_id, bin]", "key: [wh_id, bin]\n    first_run: baseline", "      warehouse: wh_id", "      warehouse: wh_id\n      priority: \"qty < -50 ? 5 : 3\"")
	low := [][]row.Value{stock("A", "S1", "-3"), stock("B", "S2", "-9")}
	first := site{rows: low}.preview(t, rule).Report
	is(t, "rows", rowsOf(first), "1 true | baseline\n2 true | baseline")
	is(t, "notices", noticesOf(first), "")
	if text := strings.Join(first.Notes, "\n"); !strings.Contains(text, "first_run: baseline: this is the first run") {
		t.Errorf("notes %q", text)
	}
	then := site{
		ledger: after(t, rule, stockColumns, due.Add(-5*time.Minute), low),
		rows:   [][]row.Value{stock("A", "S1", "-3"), stock("B", "S2", "-99"), stock("C", "S3", "-1")},
	}.preview(t, rule).Report
	is(t, "rows", rowsOf(then), "1 true | baseline\n2 true | rises\n3 true | fires")
	if strings.Contains(strings.Join(then.Notes, "\n"), "baseline") {
		t.Errorf("notes %q", then.Notes)
	}
	gone := site{ledger: after(t, rule, stockColumns, due.Add(-5*time.Minute), low)}.preview(t, rule).Report
	is(t, "findings", findingsOf(gone), `[119240,"A"] resolves`+"\n"+`[119240,"B"] resolves`)
	is(t, "notices", noticesOf(gone), "")
}
