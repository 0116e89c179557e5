package preview_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"tallyman/engine/trial/preview"
	"tallyman/internal/ledger"
	"tallyman/rules/problem"
	"tallyman/rules/row"
	"tallyman/scanners"
)

func TestAFirstRun(t *testing.T) {
	t.Parallel()
	s := site{
		rows: [][]row.Value{
			stock("A", "S1", "-3"), stock("B", "S2", "5"), stock("C", "TEST-1", "-1"), stock("D", "S3", ""), stock("A", "S4", "-7.50"),
		},
		subs: []ledger.Subscription{
			{Type: "REP_NOTICE", Warehouse: "*", Subscriber: "user:2"},
			{Type: "REP_NOTICE", Warehouse: "119240", Subscriber: "role:keeper"},
			{Type: "REP_NOTICE", Warehouse: "119240", Subscriber: "user:2"},
			{Type: "REP_NOTICE", Warehouse: "2", Subscriber: "user:3"},
			{Type: "OTHER", Warehouse: "*", Subscriber: "user:4"},
		},
	}
	r := s.preview(t, ruleOf(t, stockRule)).Report
	is(t, "rows", rowsOf(r), `
1 true | fires
2 false | qty < 0 is false
3 false | not (sku startsWith "TEST-") is false
4 false | qty < 0 is null
5 true | repeated
`)
	is(t, "notices", noticesOf(r), `firing 3 Bin A is at -3 > inbox role:keeper,user:2`)
	n := r.Notices[0]
	if n.Texts["zh"].Title != "货位 A" || n.Body != "Refill S1" || len(n.Data) != 2 || n.Data[1].Value != "-3" || n.Warehouse != "119240" {
		t.Errorf("%+v", n)
	}
	if want := (preview.Counts{Rows: 5, Matched: 2, Firing: 1, Notices: 1}); r.Counts != want || r.Outcome != "degraded" {
		t.Errorf("%+v %s", r.Counts, r.Outcome)
	}
	if r.Start.From != preview.FromNone || r.Start.Reason != "it is away" || len(r.Notes) != 0 || !r.Due.Equal(due) {
		t.Errorf("%+v %v", r.Start, r.Notes)
	}
	if v := r.Rows[3].Values; v[3] != nil || *v[2] != "S3" || *r.Rows[4].Values[3] != "-7.50" {
		t.Errorf("values %v", r.Rows)
	}
	if id := r.Rows[0].Notice; id != n.ID || id == "" {
		t.Errorf("row 1 is told by %q", id)
	}
}

const splitRule = `
    schedule: {cron: "*/5 * * * *", timezone: Asia/Shanghai}
    scopes: [{name: "119240"}]
    split_by: wh_id
    source: wms
    probe: {sql: "SELECT wh_id, bin, sku, qty, note FROM stock"}
    when: qty < 0
    key: [bin]
    notice: {type: REP_NOTICE, title: "Bin {{ .bin }}", fields: {bin: bin}}
    deliver: [{sink: inbox}]
`

// splitRows has rows of other scopes, before and after the rows of the scope and with the same keys.
func splitRows() [][]row.Value {
	rows := [][]row.Value{stock("A", "S1", "-3"), stock("A", "S2", "-4"), stock("B", "S3", "5"), stock("C", "S4", "-6"), stock("A", "S5", "-7")}
	rows[0][0], rows[3][0], rows[4][0] = row.IntOf(119241), row.IntOf(119242), row.Value{}
	return rows
}

// A rule with split_by gets the rows of other scopes as well. Its preview shows the rows that the run has judged.
func TestRowsOfOtherScopesAreNotInThePreview(t *testing.T) {
	t.Parallel()
	r := site{rows: splitRows()}.preview(t, ruleOf(t, splitRule)).Report
	is(t, "rows", rowsOf(r), "1 true | fires\n2 false | qty < 0 is false")
	if r.Counts.Rows != 2 {
		t.Errorf("%+v", r.Counts)
	}
	whole := ruleOf(t, splitRule, "when: qty < 0", "per: result\n    when: row_count > 2", "key: [bin]", "", "Bin {{ .bin }}", "Rows", "bin: bin", `bin: '"all"'`)
	r = site{rows: splitRows()}.preview(t, whole).Report
	if len(r.Rows) != 2 || r.Result == nil || r.Result.Match {
		t.Errorf("per: result judges %d rows: %+v", len(r.Rows), r.Result)
	}
}

func TestStates(t *testing.T) {
	t.Parallel()
	rule := ruleOf(t, stockRule, "key:", "for: 10m\n    keep_firing_for: 12m\n    repeat_interval: 30m\n    key:", "deliver:", `  priority: "qty < -20 ? 5 : 4"
    deliver:`)
	// From 07:20: A, B and F for 40 minutes; D since 07:50; E seen and gone; the notices are of 07:30.
	var runs [][][]row.Value
	for i := range 8 {
		rows := [][]row.Value{stock("A", "S1", "-3"), stock("B", "S1", "-3"), stock("F", "S1", "-3")}
		if i < 7 {
			rows = append(rows, stock("G", "S1", "-1"))
		}
		if i >= 6 {
			rows = append(rows, stock("D", "S1", "-1"), stock("E", "S1", "-1"), stock("H", "S1", "-1"))
		}
		runs = append(runs, rows)
	}
	k := after(t, rule, stockColumns, due.Add(-40*time.Minute), runs...)
	s := site{ledger: k, rows: [][]row.Value{stock("A", "S1", "-3"), stock("B", "S1", "-30"), stock("D", "S1", "-1"), stock("N", "S1", "-1")}}
	r := s.preview(t, rule).Report
	is(t, "rows", rowsOf(r), `
1 true | reminded
2 true | rises
3 true | fires
4 true | pends | 08:10
`)
	is(t, "findings", findingsOf(r), `
[119240,"E"] dropped
[119240,"F"] kept 08:15
[119240,"G"] kept 08:10
[119240,"H"] dropped
`)
	if r.Start.From != preview.FromLedger || r.Start.Firing != 4 || r.Start.Pending != 3 || !r.Start.LastRun.Equal(due.Add(-5*time.Minute)) {
		t.Errorf("%+v", r.Start)
	}
	later := site{ledger: k, due: due.Add(-time.Minute), rows: [][]row.Value{stock("A", "S1", "-3")}}
	r = later.preview(t, rule).Report
	is(t, "rows", rowsOf(r), "1 true | goes_on | 08:00")
	gone := site{ledger: k, due: due.Add(10 * time.Minute)}
	rule.KeepFiringFor = 0
	r = gone.preview(t, rule).Report
	is(t, "notices", noticesOf(r), `
resolved 4 Resolved: Bin A is at -3 > inbox  only if the firing notice went to this sink
resolved 4 Resolved: Bin B is at -3 > inbox  only if the firing notice went to this sink
resolved 4 Resolved: Bin F is at -3 > inbox  only if the firing notice went to this sink
resolved 4 Resolved: Bin G is at -1 > inbox  only if the firing notice went to this sink
`)
	if !strings.Contains(findingsOf(r), `[119240,"A"] resolves`) {
		t.Error(findingsOf(r))
	}
}

// Notes name what a reader must not overlook. A rule that the ledger does not know is shown as if it ran for the first
// time.
func TestNotes(t *testing.T) {
	t.Parallel()
	rows := [][]row.Value{stock("A", "S1", "-3"), stock("B", "S1", "-3")}
	rule := ruleOf(t, stockRule, "key:", "enabled: false\n    key:")
	rule.Shadow = true
	r := site{rows: rows, ledger: &known{}}.preview(t, rule).Report
	is(t, "notices", noticesOf(r), `
firing 3 Bin A is at -3 > inbox shadow:negative-bin the rule is in shadow: nobody else gets the notice
firing 3 Bin B is at -3 > inbox shadow:negative-bin the rule is in shadow: nobody else gets the notice
`)
	if len(r.Notes) != 2 || !strings.Contains(r.Notes[0], "disabled") || !strings.Contains(r.Notes[1], "in shadow") || r.Start.From != preview.FromNew {
		t.Errorf("%q %+v", r.Notes, r.Start)
	}
	promoted := &known{state: ledger.ScopeState{Registered: due.Add(-time.Hour), Promoted: due.Add(-time.Minute)}}
	promoted.state.LastDue = due.Add(time.Minute)
	r = site{rows: rows, ledger: promoted}.preview(t, rule).Report
	if r.Shadow || len(r.Notes) != 3 || !strings.Contains(r.Notes[1], "later than the due time of this preview") ||
		r.Notes[2] != "nobody is subscribed to REP_NOTICE in warehouse 119240: 2 notices would reach no inbox" {
		t.Errorf("%q", r.Notes)
	}
	if r.Notices[0].To[0].Note != "nobody is subscribed" {
		t.Errorf("%+v", r.Notices[0].To)
	}
}

func TestRowsThatCannotBeJudgedOrTold(t *testing.T) {
	t.Parallel()
	rule := ruleOf(t, stockRule, "when: qty < 0 and not (sku startsWith \"TEST-\")", "when: int(sku) < 10", "warehouse: wh_id", "warehouse: note")
	bad, good := stock("A", "x", "1"), stock("B", "7", "1")
	good[4] = row.TextOf("119240")
	r := site{rows: [][]row.Value{bad, good, stock("C", "8", "1"), stock("D", "12", "1")}}.preview(t, rule).Report
	got := strings.Split(rowsOf(r), "\n")
	for i, want := range []string{"1 false | untouched | ", "2 true | fires", "3 false | untouched | warehouse: ", "4 false | int(sku) < 10 is false"} {
		if !strings.HasPrefix(got[i], want) {
			t.Errorf("%q, want %q…", got[i], want)
		}
	}
	if r.Counts.Errored != 2 || r.Outcome != "degraded" {
		t.Errorf("%+v", r.Counts)
	}
	// A finding that waits for its time is not told yet; that it could not be is said all the same.
	rule.For = 10 * time.Minute
	r = site{rows: [][]row.Value{stock("C", "8", "1")}}.preview(t, rule).Report
	if row := r.Rows[0]; row.Fate != preview.Pends || !strings.HasPrefix(row.Error, "no notice can be made: warehouse: ") {
		t.Errorf("%+v", row)
	}
}

// Of many rows the report lists those that meet the condition or could not be judged.
func TestLimit(t *testing.T) {
	t.Parallel()
	var rows [][]row.Value
	for i := range 50 {
		qty := "1"
		if i%10 == 7 {
			qty = "-1"
		}
		rows = append(rows, stock(string(rune('A'+i)), "S1", qty))
	}
	rule := ruleOf(t, stockRule)
	r := site{rows: rows, limit: 7}.preview(t, rule).Report
	var listed []int
	for _, row := range r.Rows {
		listed = append(listed, row.Number)
	}
	if !slices.Equal(listed, []int{1, 2, 8, 18, 28, 38, 48}) || r.LeftOut != (preview.LeftOut{Rows: 43}) {
		t.Errorf("%v %+v", listed, r.LeftOut)
	}
	if r = (site{rows: rows, limit: 2}).preview(t, rule).Report; r.LeftOut.Notices != 3 || len(r.Notices) != 2 || r.Counts.Notices != 5 {
		t.Errorf("%+v", r.LeftOut)
	}
}

func TestWhatDoesNotRun(t *testing.T) {
	t.Parallel()
	_, err := preview.Run(t.Context(), site{}.request(ruleOf(t, stockRule, "qty < 0", "qtty < 0")))
	var list problem.List
	if !errors.As(err, &list) || list[0].Code != "expr_unknown_name" || !strings.Contains(list[0].String(), "^") {
		t.Errorf("%v", err)
	}
	fault := &scanners.Error{Code: scanners.CodeTimeout, Transient: true, Err: errors.New("too slow")}
	k := after(t, ruleOf(t, stockRule), stockColumns, due.Add(-5*time.Minute), [][]row.Value{stock("A", "S1", "-3")})
	r := site{fault: fault, ledger: k}.preview(t, ruleOf(t, stockRule)).Report
	if r.Outcome != "failed" || !strings.HasPrefix(r.Error, "probe_timeout: ") || len(r.Rows) != 0 || findingsOf(r) != "[119240,\"A\"] goes_on\n" {
		t.Errorf("%+v", r)
	}
	k.errs = errors.New("gone")
	if _, err := preview.Run(t.Context(), site{ledger: k}.request(ruleOf(t, stockRule))); err == nil || !strings.Contains(err.Error(), "gone") {
		t.Errorf("%v", err)
	}
	dear := ruleOf(t, stockRule)
	dear.Probe.MaxCost = 5
	if _, err := preview.Run(t.Context(), site{}.request(dear)); err == nil || !strings.Contains(err.Error(), "probe_cost_unknown") {
		t.Errorf("%v", err)
	}
}

func TestParseAt(t *testing.T) {
	t.Parallel()
	now := due.Add(1500 * time.Millisecond)
	for text, want := range map[string]string{
		"": "2026-06-01T08:00:01Z", "-1h": "2026-06-01T07:00:01Z", "30m": "2026-06-01T08:30:01Z",
		"2026-06-01T08:00:00+08:00": "2026-06-01T00:00:00Z", "2026-06-01 08:00": "2026-06-01T00:00:00Z",
		"2026-06-01T08:00:07": "2026-06-01T00:00:07Z", "2026-06-01": "2026-05-31T16:00:00Z",
	} {
		if got, err := preview.ParseAt(text, "Asia/Shanghai", now); err != nil || got.Format(time.RFC3339Nano) != want {
			t.Errorf("%q: %v, %v", text, got, err)
		}
	}
	for _, text := range []string{"yesterday", "08:00", "-1", "2026-13-01"} {
		if got, err := preview.ParseAt(text, "Asia/Shanghai", now); err == nil {
			t.Errorf("%q: %v", text, got)
		}
	}
}
