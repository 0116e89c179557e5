package rulediff_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"tallyman/engine/enginetest"
	"tallyman/engine/trial"
	"tallyman/engine/trial/rulediff"
	"tallyman/internal/finding"
	"tallyman/internal/ledger"
	"tallyman/internal/notice"
	"tallyman/internal/testenv"
	"tallyman/rules"
	"tallyman/rules/catalog"
	"tallyman/rules/row"
	"tallyman/scanners"
)

func TestMain(m *testing.M) { testenv.Main(m) }

var due = time.Date(2026, 6, 1, 8, 0, 0, 0, time.UTC)

const stockRule = `
  - id: negative-bin
    schedule: {cron: "*/5 * * * *"}
    source: wms
    probe: {sql: "SELECT bin, lot, qty FROM stock"}
    when: qty < 0
    key: [bin]
    notice: {type: REP_NOTICE, warehouse: "'1'", title: "Bin {{ .bin }}", send_resolved: true}
    deliver: [{sink: inbox}]
`

var columns = []row.Column{{Name: "bin", Kind: row.Text}, {Name: "lot", Kind: row.Text}, {Name: "qty", Kind: row.Int}}

var types = catalog.Catalog{"REP_NOTICE": {Code: "REP_NOTICE", ID: 1, Name: "Refill", Retention: time.Hour}}

func load(t *testing.T, fields string, replace ...string) []*rules.Rule {
	t.Helper()
	set := rules.LoadFile("stock.yaml", []byte("version: 1\nrules:"+strings.NewReplacer(replace...).Replace(fields)))
	if len(set.Problems) > 0 {
		t.Fatal(set.Problems)
	}
	return set.Rules
}

// bins are rows A, B, C … of those quantities.
func bins(quantities ...int64) [][]row.Value {
	var rows [][]row.Value
	for i, q := range quantities {
		rows = append(rows, []row.Value{row.TextOf(string(rune('A' + i))), row.TextOf("L" + fmt.Sprint(i)), row.IntOf(q)})
	}
	return rows
}

// site answers every probe with the same rows.
type site struct {
	rows   [][]row.Value
	fault  error
	ledger trial.Ledger
	limit  int
}

func (s site) diff(t *testing.T, old, now []*rules.Rule) *rulediff.Diff {
	t.Helper()
	source := &enginetest.Source{Columns: columns, Rows: func(context.Context, scanners.Request) ([][]row.Value, error) { return s.rows, s.fault }}
	d, err := rulediff.Run(t.Context(), rulediff.Input{
		Old: old, New: now, Types: types, Ledger: s.ledger, Due: due, Limit: s.limit,
		Snapshot: func(context.Context, string) (scanners.Source, error) { return source, nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// told says what an effect is, as fire [keys] …
func told(e *rulediff.Effect) string {
	if e == nil {
		return "none"
	}
	var parts []string
	for _, k := range []struct {
		name string
		rulediff.Keys
	}{{"fire", e.Fire}, {"pend", e.Pend}, {"resolve", e.Resolve}, {"keep", e.Keep}, {"drop", e.Drop}, {"same", e.Unchanged}, {"again", e.Again}} {
		if k.Count > 0 {
			parts = append(parts, fmt.Sprintf("%s %d %s", k.name, k.Count, strings.Join(k.Keys.Keys, " ")))
		}
	}
	return strings.Join(parts, "; ")
}

func TestEffects(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		rows    [][]row.Value
		old     []string // replacements in the old version
		now     []string // in the new one
		want    string
		warning string
	}{
		"a wider condition": {rows: bins(-1, 0, 5), now: []string{"qty < 0", "qty <= 0"}, want: `fire 1 ["B"]; same 1 ["A"]`},
		"a narrower one":    {rows: bins(-1, -9), now: []string{"qty < 0", "qty < -5"}, want: `resolve 1 ["A"]; same 1 ["B"]`},
		"a narrower one that keeps firing": {
			rows: bins(-1, -9), now: []string{"qty < 0", "qty < -5", "key:", "keep_firing_for: 1h\n    key:"}, want: `resolve 1 ["A"]; same 1 ["B"]`,
		},
		"for, of what fires already": {rows: bins(-1), now: []string{"key:", "for: 10m\n    key:"}, want: `same 1 ["A"]`},
		"for, of what is new": {
			rows: bins(-1, 0), now: []string{"qty < 0", "qty <= 0", "key:", "for: 10m\n    key:"}, want: `pend 1 ["B"]; same 1 ["A"]`,
		},
		"another key": {
			rows: bins(-1), now: []string{"[bin]", "[bin, lot]"}, want: `fire 1 ["A","L0"]; resolve 1 ["A"]`, warning: "key: ",
		},
		"a higher priority": {rows: bins(-1, -9), now: []string{"title:", "priority: \"qty < -5 ? 5 : 3\", title:"}, want: `same 2 ["A"] ["B"]; again 1 ["B"]`},
		"a new title":       {rows: bins(-1), now: []string{"Bin {{", "The bin {{"}, want: `same 1 ["A"]`},
		"disabled":          {rows: bins(-1), now: []string{"key:", "enabled: false\n    key:"}, want: `same 1 ["A"]`, warning: "disabled: "},
		"enabled":           {rows: bins(-1), old: []string{"key:", "enabled: false\n    key:"}, want: `fire 1 ["A"]`, warning: "enabled: "},
		"to mode event": {
			rows: bins(-1), now: []string{"key:", "mode: event\n    key:", ", send_resolved: true", ""}, want: `fire 1 ["A"]; resolve 1 ["A"]`, warning: "mode: ",
		},
		"events": {
			rows: bins(-1, 0, -5), old: []string{"key:", "mode: event\n    key:", ", send_resolved: true", ""},
			now: []string{"key:", "mode: event\n    key:", ", send_resolved: true", "", "qty < 0", "qty in [0, -1]"}, want: `fire 1 ["B"]; drop 1 ["C"]; same 1 ["A"]`,
		},
		"events in a digest": {
			rows: bins(-1, 0, -5), old: []string{"key:", "mode: event\n    limit: {notices: 1}\n    key:", ", send_resolved: true", ""},
			now:  []string{"key:", "mode: event\n    limit: {notices: 1}\n    key:", ", send_resolved: true", "", "qty < 0", "qty in [0, -1]"},
			want: `fire 1 ["B"]; drop 1 ["C"]; same 1 ["A"]`,
		},
		"a limit": {
			rows: bins(-1, -2, -3), old: []string{"key:", "mode: event\n    key:", ", send_resolved: true", ""},
			now: []string{"key:", "mode: event\n    limit: {notices: 1}\n    key:", ", send_resolved: true", ""}, want: `same 3 ["A"] ["C"] ["B"]`,
		},
		"a higher priority, told in a digest": {
			rows: bins(-1, -9, -9), now: []string{"key:", "limit: {notices: 1}\n    key:", "title:", "priority: \"qty < -5 ? 5 : 3\", title:"},
			want: `same 3 ["A"] ["B"] ["C"]; again 2 ["B"] ["C"]`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := site{rows: c.rows}.diff(t, load(t, stockRule, c.old...), load(t, stockRule, c.now...))
			if len(d.Rules) != 1 || d.Rules[0].Status != rulediff.Changed || d.Failing != 0 {
				t.Fatalf("%+v", d)
			}
			if got := told(d.Rules[0].Effect); got != c.want {
				t.Errorf("%s, want %s", got, c.want)
			}
			if got := strings.Join(d.Rules[0].Warns, "\n"); c.warning == "" && got != "" || !strings.HasPrefix(got, c.warning) {
				t.Errorf("warns %q, want %q", got, c.warning)
			}
			if d.Sum.Fire.Count != d.Rules[0].Effect.Fire.Count || d.Sum.Unchanged.Count != d.Rules[0].Effect.Unchanged.Count {
				t.Errorf("sum %+v", d.Sum)
			}
		})
	}
}

func TestRulesThatComeAndGo(t *testing.T) {
	t.Parallel()
	one := load(t, stockRule)
	both := load(t, stockRule+strings.Replace(stockRule, "negative-bin", "other", 1))
	d := site{rows: bins(-1, -2), limit: 1}.diff(t, one, both)
	if len(d.Rules) != 1 || d.Same != 1 || d.Rules[0].Status != rulediff.Added || told(d.Rules[0].Effect) != `fire 2 ["A"]` || d.Rules[0].From != rulediff.FromNone {
		t.Errorf("%+v", d)
	}
	d = site{rows: bins(-1, -2)}.diff(t, both, one)
	if r := d.Rules[0]; r.ID != "other" || r.Status != rulediff.Removed || told(r.Effect) != `resolve 2 ["A"] ["B"]` || r.From != rulediff.FromOld || r.New != nil {
		t.Errorf("%+v", d)
	}
	files, err := rulediff.Run(t.Context(), rulediff.Input{Old: one, New: both, Due: due})
	if err != nil || files.Ran || files.Sum != nil || len(files.Rules) != 1 || files.Rules[0].Effect != nil {
		t.Errorf("%+v, %v", files, err)
	}
}

// The warning of a removed rule says what the node does: only a rule with send_resolved sends resolutions, and a rule in
// shadow only where it was promoted.
func TestARemovedRuleSaysWhatBecomesOfItsNotices(t *testing.T) {
	t.Parallel()
	for change, want := range map[string]string{
		"true":                       "its findings are closed, and its open notices are resolved (send_resolved)",
		"false":                      "its findings are closed without notices",
		"true}\n    shadow: true #":  "its findings are closed without notices; where the rule was promoted, its open notices are resolved",
		"false}\n    shadow: true #": "its findings are closed without notices",
	} {
		files, err := rulediff.Run(t.Context(), rulediff.Input{Old: load(t, stockRule, "send_resolved: true", "send_resolved: "+change), Due: due})
		if err != nil || len(files.Rules) != 1 || files.Rules[0].Status != rulediff.Removed || !slices.Equal(files.Rules[0].Warns, []string{want}) {
			t.Errorf("send_resolved: %s: %+v, %v, want %s", change, files, err, want)
		}
	}
}

// A version that would not run is reported, and the other rules are compared nevertheless.
func TestAVersionThatDoesNotRun(t *testing.T) {
	t.Parallel()
	broken := load(t, stockRule, "qty < 0", "qtty < 0")
	d := site{rows: bins(-1)}.diff(t, load(t, stockRule), broken)
	if r := d.Rules[0]; r.Effect != nil || len(r.Faults) != 1 || r.Faults[0].Code != "expr_unknown_name" || d.Failing != 1 || r.Old.Error != "" {
		t.Errorf("%+v", d.Rules[0])
	}
	d = site{rows: bins(-1)}.diff(t, broken, load(t, stockRule))
	if r := d.Rules[0]; r.Effect != nil || !strings.Contains(r.Old.Error, "would not run") || d.Failing != 0 {
		t.Errorf("%+v", d.Rules[0])
	}
	fault := &scanners.Error{Code: scanners.CodeTimeout, Transient: true, Err: errors.New("slow")}
	d = site{fault: fault}.diff(t, load(t, stockRule), load(t, stockRule, "qty < 0", "qty < 1"))
	if r := d.Rules[0]; r.Effect != nil || !strings.HasPrefix(r.New.Error, "probe_timeout") || d.Failing != 1 {
		t.Errorf("%+v", d.Rules[0])
	}
}

// known is a ledger in which A fires since 07:00 with a notice of priority 3, and B is pending.
type known struct{ err error }

func (k known) Scope(context.Context, string, string) (ledger.ScopeState, error) {
	return ledger.ScopeState{
		Registered: due.Add(-time.Hour),
		Scope:      finding.Scope{LastDue: due.Add(-5 * time.Minute), LastOKDue: due.Add(-5 * time.Minute), Clock: time.Hour},
	}, k.err
}

func (known) Findings(context.Context, string, string) ([]finding.State, error) {
	fired := due.Add(-time.Hour)
	return []finding.State{
		{Key: `["A"]`, Phase: finding.Firing, Episode: fired, FiringSince: fired, Priority: 3, LastNotified: fired, Ordinal: 1, NoticeID: "n_1"},
		{Key: `["B"]`, Phase: finding.Pending, Episode: due.Add(-5 * time.Minute), SinceClock: time.Hour},
	}, nil
}

func (known) LookBack(context.Context, string, string) (ledger.LookBack, error) {
	return ledger.LookBack{}, nil
}

func (known) Notices(context.Context, []string) (map[string]*notice.Notice, error) {
	return map[string]*notice.Notice{}, nil
}

// With a ledger both versions begin with its state of the rule.
func TestFromTheLedger(t *testing.T) {
	t.Parallel()
	old := load(t, stockRule, "key:", "for: 10m\n    key:")
	d := site{rows: bins(-1, -2, -3), ledger: known{}}.diff(t, old, load(t, stockRule, "key:", "for: 5m\n    repeat_interval: 30m\n    key:"))
	if r := d.Rules[0]; told(r.Effect) != `fire 1 ["B"]; same 2 ["A"] ["C"]; again 1 ["A"]` || r.From != rulediff.FromLedger {
		t.Errorf("%s %+v", told(r.Effect), r)
	}
	d = site{rows: bins(1, 2), ledger: known{}}.diff(t, old, load(t, stockRule, "key:", "for: 5m\n    key:", "qty < 0", "qty < 2"))
	if r := d.Rules[0]; told(r.Effect) != `keep 1 ["A"]` {
		t.Errorf("%s", told(r.Effect))
	}
	d = site{rows: bins(-1, -2), ledger: known{}}.diff(t, old, load(t, stockRule, "key:", "for: 10m\n    key:", "qty < 0", "qty < -1"))
	if r := d.Rules[0]; told(r.Effect) != `resolve 1 ["A"]; same 1 ["B"]` {
		t.Errorf("%s", told(r.Effect))
	}
	d = site{rows: bins(-1, -2), ledger: known{}}.diff(t, old, load(t, stockRule, "key:", "for: 10m\n    key:", "qty < 0", "qty == -1"))
	if r := d.Rules[0]; told(r.Effect) != `drop 1 ["B"]; same 1 ["A"]` {
		t.Errorf("%s", told(r.Effect))
	}
	_, err := rulediff.Run(t.Context(), rulediff.Input{
		Old: old, New: load(t, stockRule), Types: types, Ledger: known{errors.New("gone")}, Due: due,
		Snapshot: func(context.Context, string) (scanners.Source, error) {
			return &enginetest.Source{Columns: columns}, nil
		},
	})
	if err == nil || !strings.Contains(err.Error(), "gone") {
		t.Errorf("%v", err)
	}
}
