package preview_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"tallyman/rules/row"
)

const countRule = `
    mode: event
    schedule: {cron: "*/5 * * * *"}
    source: wms
    probe:
      sql: SELECT id, bin, diff, at FROM counts WHERE at <= :until AND id > :wm_id ORDER BY id
      watermark: {columns: [id], initial: {id: 0}, lag: 30s}
    when: diff != 0
    key: [id]
    notice: {type: REP_NOTICE, warehouse: "'1'", title: "Bin {{ .bin }}", fields: {bin: bin}}
    deliver: [{sink: inbox}]
`

var countColumns = []row.Column{{Name: "id", Kind: row.Int}, {Name: "bin", Kind: row.Text}, {Name: "diff", Kind: row.Int}, {Name: "at", Kind: row.Time}}

func counted(id, diff int64) []row.Value {
	return []row.Value{row.IntOf(id), row.TextOf("A"), row.IntOf(diff), row.TimeOf(due)}
}

func TestEvents(t *testing.T) {
	t.Parallel()
	rule := ruleOf(t, countRule)
	r := site{columns: countColumns, rows: [][]row.Value{counted(1, 5), counted(2, 0), counted(3, -1)}}.preview(t, rule).Report
	is(t, "rows", rowsOf(r), `
1 true | event
2 false | diff != 0 is false
3 true | event
`)
	w := r.Watermark
	if *w.Before[0] != "0" || *w.After[0] != "3" || !w.Until.Equal(due.Add(-30*time.Second)) || !slices.Equal(w.Columns, []string{"id"}) {
		t.Errorf("%+v", w)
	}
	if len(r.Notices) != 2 || r.Notices[0].Known || r.Rows[2].Notice != r.Notices[1].ID {
		t.Errorf("%+v", r.Notices)
	}
	// look_back reads rows again, which no run judges again.
	k := after(t, rule, countColumns, due.Add(-5*time.Minute), [][]row.Value{counted(1, 5), counted(2, 0), counted(4, 1)})
	r = site{columns: countColumns, ledger: k, rows: [][]row.Value{counted(1, 5), counted(2, 0), counted(3, -1), counted(4, 1)}}.preview(t, rule).Report
	is(t, "rows", rowsOf(r), `
1 false | seen_before
2 false | seen_before
3 true | event
4 false | seen_before
`)
	if len(r.Notices) != 1 || r.Counts.Rows != 1 || *r.Watermark.After[0] != "4" {
		t.Errorf("%+v %+v", r.Counts, r.Notices)
	}
	// A source that shows old rows again.
	rule = ruleOf(t, strings.Replace(countRule, "lag: 30s", "lag: 30s, look_back: 0", 1))
	k = after(t, rule, countColumns, due.Add(-5*time.Minute), [][]row.Value{counted(1, 5), counted(2, 0)})
	r = site{columns: countColumns, ledger: k, rows: [][]row.Value{counted(1, 5), counted(4, 1)}}.preview(t, rule).Report
	is(t, "rows", rowsOf(r), `
1 true | known_event
2 true | event
`)
	if *r.Watermark.Before[0] != "2" || *r.Watermark.After[0] != "4" || !r.Notices[0].Known || r.Notices[1].Known {
		t.Errorf("%+v %+v", r.Watermark, r.Notices)
	}
}
