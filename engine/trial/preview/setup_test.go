package preview_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"tallyman/engine/enginetest"
	"tallyman/engine/judge"
	"tallyman/engine/trial"
	"tallyman/engine/trial/preview"
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

// due is a due time of the tests' schedule, every five minutes: 16:00 in Shanghai.
var due = time.Date(2026, 6, 1, 8, 0, 0, 0, time.UTC)

const stockRule = `
    schedule: {cron: "*/5 * * * *", timezone: Asia/Shanghai}
    source: wms
    probe: {sql: "SELECT wh_id, bin, sku, qty, note FROM stock"}
    when: qty < 0 and not (sku startsWith "TEST-")
    key: [wh_id, bin]
    notice:
      type: REP_NOTICE
      warehouse: wh_id
      title: {en: "Bin {{ .bin }} is at {{ .qty }}", zh: "货位 {{ .bin }}"}
      body: {en: "Refill {{ .sku }}"}
      fields: {bin: bin, qty: qty}
      send_resolved: true
    deliver: [{sink: inbox}]
`

var stockColumns = []row.Column{
	{Name: "wh_id", Kind: row.Int},
	{Name: "bin", Kind: row.Text},
	{Name: "sku", Kind: row.Text},
	{Name: "qty", Kind: row.Decimal, Nullable: true},
	{Name: "note", Kind: row.Text, Nullable: true},
}

// stock is a row in warehouse 119240; qty "" is NULL.
func stock(bin, sku, qty string) []row.Value {
	v := row.Value{}
	if qty != "" {
		v, _ = row.ParseDecimal(qty)
	}
	return []row.Value{row.IntOf(119240), row.TextOf(bin), row.TextOf(sku), v, {}}
}

// ruleOf loads the one rule of a file; more is added to the fields of stockRule, or replaces them.
func ruleOf(t *testing.T, fields string, replace ...string) *rules.Rule {
	t.Helper()
	text := strings.NewReplacer(replace...).Replace(fields)
	set := rules.LoadFile("rules/stock.yaml", []byte("version: 1\nrules:\n  - id: negative-bin"+text))
	if len(set.Problems) > 0 || len(set.Rules) != 1 {
		t.Fatalf("%d rules, %v", len(set.Rules), set.Problems)
	}
	return set.Rules[0]
}

var types = catalog.Catalog{"REP_NOTICE": {
	Code: "REP_NOTICE", ID: 124719, Name: "Replenishment notice", Retention: 72 * time.Hour,
	Fields: map[string]catalog.Field{"bin": {Type: catalog.String}, "qty": {Type: catalog.Decimal}},
}}

// site is what the rule meets.
type site struct {
	columns []row.Column
	rows    [][]row.Value
	fault   error
	subs    []ledger.Subscription
	ledger  trial.Ledger
	due     time.Time
	limit   int
}

var sinks = map[string]preview.Sink{
	"inbox": {Type: "inbox", Channel: judge.Channel{Inbox: true}}, "work": {Type: "queue"},
	"mail": {Type: "mail", Channel: judge.Channel{Push: true, Each: true, Address: "mail"}},
	"sms":  {Type: "chat", Channel: judge.Channel{Push: true}}, "pager": {Type: "chat", Channel: judge.Channel{Push: true}},
	"gateway": {Type: "webhook", Channel: judge.Channel{Push: true}}, "log": {Type: "stdout", Channel: judge.Channel{Push: true}},
}

func (s site) request(r *rules.Rule) preview.Request {
	if s.columns == nil {
		s.columns = stockColumns
	}
	if s.due.IsZero() {
		s.due = due
	}
	return preview.Request{
		Rule: r, Name: "wms", Types: types, Sinks: sinks,
		Source: &enginetest.Source{Columns: s.columns, Rows: func(context.Context, scanners.Request) ([][]row.Value, error) {
			return s.rows, s.fault
		}},
		Ledger: s.ledger, NoLedger: "it is away",
		Subscriptions: func(_ context.Context, typ string) ([]ledger.Subscription, error) {
			var list []ledger.Subscription
			for _, sub := range s.subs {
				if sub.Type == typ {
					list = append(list, sub)
				}
			}
			return list, nil
		},
		Due: s.due, Limit: s.limit,
	}
}

func (s site) preview(t *testing.T, r *rules.Rule) *preview.Preview {
	t.Helper()
	p, err := preview.Run(t.Context(), s.request(r))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// known is a ledger that the runs of a rule have written.
type known struct {
	state    ledger.ScopeState
	findings map[string]finding.State
	notices  map[string]*notice.Notice
	lookBack ledger.LookBack
	errs     error
}

func (k *known) Scope(context.Context, string, string) (ledger.ScopeState, error) {
	if k.state.Registered.IsZero() {
		return ledger.ScopeState{}, ledger.ErrNotFound
	}
	return k.state, k.errs
}

func (k *known) Findings(context.Context, string, string) ([]finding.State, error) {
	var list []finding.State
	for _, f := range k.findings {
		list = append(list, f)
	}
	return list, nil
}

func (k *known) LookBack(context.Context, string, string) (ledger.LookBack, error) {
	return k.lookBack, nil
}

func (k *known) Notices(_ context.Context, ids []string) (map[string]*notice.Notice, error) {
	found := map[string]*notice.Notice{}
	for _, id := range ids {
		if n := k.notices[id]; n != nil {
			found[id] = n
		}
	}
	return found, nil
}

// after runs the rule at each due time, on the rows of that run, and returns what a ledger would know then.
func after(t *testing.T, r *rules.Rule, columns []row.Column, from time.Time, runs ...[][]row.Value) *known {
	t.Helper()
	var rows [][]row.Value
	source := &enginetest.Source{Columns: columns, Rows: func(context.Context, scanners.Request) ([][]row.Value, error) { return rows, nil }}
	try, err := trial.New(r, source, types, trial.Start{})
	if err == nil {
		err = try.Verify(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	k := &known{findings: map[string]finding.State{}, notices: map[string]*notice.Notice{}}
	k.state.Registered = from
	for i := range runs {
		rows = runs[i]
		at := from.Add(time.Duration(i) * 5 * time.Minute)
		run, err := try.Run(t.Context(), at)
		if err != nil || run.Run.Outcome == ledger.OutcomeFailed {
			t.Fatal(err, run)
		}
		last := run.Commits[len(run.Commits)-1]
		k.state.Scope, k.state.Done = last.Scope, at
		if last.Watermark != nil {
			k.state.Watermark = last.Watermark
		}
		for _, c := range run.Commits {
			k.lookBack = k.lookBack.Apply(c.LookBack)
			for _, n := range c.Notices {
				k.notices[n.Notice.ID] = n.Notice
			}
		}
	}
	for _, f := range try.Findings() {
		k.findings[f.Key] = f
	}
	return k
}

// rowsOf are the rows of a report, one a line: number, match, fate, and why not.
func rowsOf(r *preview.Report) string {
	var b strings.Builder
	for _, row := range r.Rows {
		fmt.Fprintf(&b, "%d %v", row.Number, row.Match)
		for _, part := range []string{string(row.Fate), row.In, clock(row.Next), row.Error, strings.Join(row.Because, " & ")} {
			if part != "" {
				b.WriteString(" | " + part)
			}
		}
		b.WriteByte('\n')
	}
	return b.String()
}

func findingsOf(r *preview.Report) string {
	var b strings.Builder
	for _, f := range r.Findings {
		b.WriteString(strings.TrimSpace(fmt.Sprintf("%s %s %s", f.Key, f.Fate, clock(f.Next))) + "\n")
	}
	return b.String()
}

func noticesOf(r *preview.Report) string {
	var b strings.Builder
	for _, n := range r.Notices {
		fmt.Fprintf(&b, "%s %d %s", n.Status, n.Priority, n.Title)
		for _, d := range n.To {
			fmt.Fprintf(&b, " > %s %s %s", d.Sink, strings.Join(d.Recipients, ","), d.Note)
		}
		b.WriteByte('\n')
	}
	return b.String()
}

func clock(t *time.Time) string {
	if t == nil {
		return ""
	}
	return t.Format("15:04")
}

func is(t *testing.T, what, got, want string) {
	t.Helper()
	if got = strings.TrimSpace(got); got != strings.TrimSpace(want) {
		t.Errorf("%s:\n%s\nwant\n%s", what, got, strings.TrimSpace(want))
	}
}
