package judge

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"reflect"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"tallyman/internal/finding"
	"tallyman/internal/ledger"
	"tallyman/internal/notice"
	"tallyman/internal/silence"
	"tallyman/rules"
	"tallyman/rules/catalog"
	"tallyman/rules/deliver"
	"tallyman/rules/row"
	"tallyman/scanners"
)

// memoryLedger is a ledger in memory for one rule in one scope.
type memoryLedger struct {
	state    ledger.ScopeState
	findings map[string]finding.State
	notices  map[string]*notice.Notice
	reads    int // findings that were read one by one
}

func newMemoryLedger() *memoryLedger {
	return &memoryLedger{findings: map[string]finding.State{}, notices: map[string]*notice.Notice{}}
}

func (l *memoryLedger) all() []finding.State { return slices.Collect(maps.Values(l.findings)) }

func (l *memoryLedger) open(_ context.Context, keys []finding.Hash) ([]finding.State, error) {
	l.reads += len(keys)
	return slices.DeleteFunc(l.all(), func(st finding.State) bool { return !slices.Contains(keys, finding.HashOf(st.Key)) }), nil
}

func (l *memoryLedger) carriers(_ context.Context, ids []string) (map[string]int, error) {
	out := map[string]int{}
	for _, st := range l.findings {
		if slices.Contains(ids, st.NoticeID) {
			out[st.NoticeID]++
		}
	}
	return out, nil
}

func (l *memoryLedger) told(_ context.Context, ids []string) (map[string]*notice.Notice, error) {
	out := map[string]*notice.Notice{}
	for _, id := range ids {
		if n := l.notices[id]; n != nil {
			out[id] = n
		}
	}
	return out, nil
}

func (l *memoryLedger) commit(t *rapid.T, c *ledger.Commit) {
	for i := range c.Findings {
		f := &c.Findings[i]
		if _, known := l.findings[f.Key]; known == (f.Op == ledger.Insert) {
			t.Fatalf("operation %d of %s, which is known: %v", f.Op, f.Key, known)
		}
		if l.findings[f.Key] = f.State; f.Op == ledger.Delete {
			delete(l.findings, f.Key)
		}
	}
	for _, n := range c.Notices {
		if l.notices[n.Notice.ID] == nil {
			l.notices[n.Notice.ID] = n.Notice
		}
	}
	l.state.Scope = c.Scope
}

// silencer silences the warehouse that it names.
type silencer struct{ warehouse string }

func (s silencer) Holding(_ time.Time, about *silence.Subject) []silence.Holding {
	if s.warehouse == "" || about.Warehouse != s.warehouse {
		return nil
	}
	return []silence.Holding{{ID: "s_" + s.warehouse}}
}

var openColumns = []row.Column{
	{Name: "bin", Kind: row.Text}, {Name: "qty", Kind: row.Int, Nullable: true}, {Name: "wh", Kind: row.Text}, {Name: "state", Kind: row.Text},
}

// drawRule is one version of a rule, as an editor may have left it.
func drawRule(t *rapid.T, grouped bool) *rules.Rule {
	minutes := func(name string) time.Duration {
		return time.Duration(rapid.SampledFrom([]int{0, 0, 5, 12}).Draw(t, name)) * time.Minute
	}
	r := &rules.Rule{
		ID: "r", Mode: rules.ModeState, When: "100 / qty < 20", Key: []string{"bin"}, Schedule: rules.Schedule{Cron: "*/5 * * * *"},
		Probe: rules.Probe{SQL: "SELECT bin, qty, wh, state FROM bins", MaxRows: 14},
		For:   minutes("for"), KeepFiringFor: minutes("keep"), RepeatInterval: minutes("repeat"),
		NoData:   rapid.SampledFrom([]rules.Policy{rules.PolicyOK, rules.PolicyKeepLast, rules.PolicyAlert}).Draw(t, "no_data"),
		OnError:  rapid.SampledFrom([]rules.Policy{rules.PolicyKeepLast, rules.PolicyAlert}).Draw(t, "on_error"),
		FirstRun: rapid.SampledFrom([]rules.FirstRun{"", rules.FirstRunBaseline}).Draw(t, "first_run"),
		Limit:    rules.Limit{Notices: rapid.SampledFrom([]int{0, 1, 3}).Draw(t, "limit")},
		Notice: rules.Notice{
			Type: "REP_NOTICE", Warehouse: "wh", Priority: "qty < -50 ? 5 : 3", SendResolved: rapid.Bool().Draw(t, "send_resolved"),
			Title: map[string]string{"": "Bin {{ .bin }} is at {{ .qty }}"}, Fields: map[string]string{"bin": "bin"},
		},
		Deliver: []deliver.Entry{{Sink: "inbox"}},
	}
	switch rapid.IntRange(0, 2).Draw(t, "again on") {
	case 1:
		r.NotifyAgainOn = []string{"state"}
	case 2:
		r.NotifyAgainOn = []string{"state", "wh"}
	}
	if grouped {
		r.GroupBy, r.Notice.Title[""], r.Notice.Fields["bin"] = []string{"wh"}, "In {{ .wh }}", "wh"
	}
	return r
}

func drawRows(t *rapid.T) []*row.Row {
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) *row.Row {
		qty := row.IntOf(rapid.SampledFrom([]int64{-90, -7, -7, -7, -7, -7, 2, 0}).Draw(t, "qty")) // 2 is well, 0 cannot be judged
		return &row.Row{Columns: openColumns, Values: []row.Value{
			row.TextOf(rapid.SampledFrom([]string{"a", "b", "c", "d", "e", "f", "g"}).Draw(t, "bin")), qty,
			row.TextOf(rapid.SampledFrom([]string{"W1", "W1", "W2"}).Draw(t, "wh")), row.TextOf(rapid.SampledFrom([]string{"A", "A", "A", "B"}).Draw(t, "state")),
		}}
	}), 0, 15).Draw(t, "rows")
}

// faultyProbe fails after its rows.
type faultyProbe struct{ givenRows }

func (f faultyProbe) Scan(ctx context.Context, req scanners.Request, visit func(*row.Row) error) (scanners.Result, error) {
	if _, err := f.givenRows.Scan(ctx, req, visit); err != nil {
		return scanners.Result{}, err
	}
	return scanners.Result{}, errors.New("the connection is lost")
}

// openNode is a node that runs a rule with all findings from the ledger, or with its own outline of the open ones.
type openNode struct {
	ledger *memoryLedger
	open   *finding.Open // nil = nothing is remembered
}

// run makes the record of a run. byOpen says that the node uses its outline.
func (n *openNode) run(t *rapid.T, p Pass, byOpen bool) *ledger.Commit {
	p.Notices, p.Open, p.Carriers = n.ledger.told, n.ledger.open, n.ledger.carriers
	var known *Snapshot
	if byOpen && p.JudgesRows() {
		if n.open == nil {
			n.open = finding.NewOpen(n.ledger.all())
		}
		known = p.BeginOpen(n.ledger.state, n.open)
	} else {
		n.open = nil
		known = p.Begin(n.ledger.state, n.ledger.all(), ledger.LookBack{})
	}
	result := p.Scan(t.Context(), known)
	record, err := p.Compose(t.Context(), known, result)
	if err != nil || result.Unread != nil {
		t.Fatal(err, result.Unread)
	}
	record.Run.Duration = 0
	return record
}

func (n *openNode) commit(t *rapid.T, record *ledger.Commit) {
	n.ledger.commit(t, record)
	if n.open != nil {
		n.open.Apply(func(yield func(*finding.State, bool) bool) {
			for i := range record.Findings {
				if !yield(&record.Findings[i].State, record.Findings[i].Op == ledger.Delete) {
					return
				}
			}
		})
	}
}

// TestOpenAgrees runs random histories twice: with all findings from the ledger, and with outlines of the open ones.
// Both make the same records, notices and ledgers, through take-overs, failed commits, changes of the rule, silences,
// failed scans and a clock that is set back.
func TestOpenAgrees(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		reference, remembering := &openNode{ledger: newMemoryLedger()}, &openNode{ledger: newMemoryLedger()}
		p := compiled(t, drawRule(t, false))
		p.Due = eight
		for i := range rapid.IntRange(1, 25).Draw(t, "runs") {
			event := rapid.SampledFrom([]string{"", "", "", "", "", "reload", "grouped", "take-over", "silence", "loud", "clock", "refused", "broken"}).Draw(t, "event")
			due, term, silent, began := p.Due, p.Term, p.Silencer, p.Began
			if event == "reload" || event == "grouped" {
				p = compiled(t, drawRule(t, event == "grouped"))
			}
			p.Due, p.Term, p.Silencer, p.Began = due.Add(5*time.Minute*time.Duration(rapid.SampledFrom([]int{1, 1, 1, 3}).Draw(t, "late"))), term, silent, began
			switch event {
			case "clock":
				p.Due = due.Add(-time.Hour)
				p.Term, p.Began = term+1, p.Due.Add(-time.Minute)
			case "take-over":
				remembering.open = nil
			case "silence":
				p.Silencer = silencer{rapid.SampledFrom([]string{"W1", "W2"}).Draw(t, "silenced")}
			case "loud":
				p.Silencer = silencer{}
			}
			p.Started = p.Due
			probe := givenRows{columns: openColumns, rows: drawRows(t)}
			p.Prepared = probe
			if event == "broken" {
				p.Prepared = faultyProbe{probe}
			}
			want, got := reference.run(t, *p, false), remembering.run(t, *p, true)
			same(t, i, want, got)
			if event == "refused" { // the ledger takes neither; the firing is repeated later
				continue
			}
			reference.commit(t, want)
			remembering.commit(t, got)
			if !reflect.DeepEqual(reference.ledger.findings, remembering.ledger.findings) || !reflect.DeepEqual(reference.ledger.notices, remembering.ledger.notices) {
				t.Fatalf("run %d: the ledgers differ", i)
			}
			if open := remembering.open; open != nil && !open.Equal(finding.NewOpen(remembering.ledger.all())) {
				t.Fatalf("run %d: what is remembered is not what the ledger has", i)
			}
		}
	})
}

func same(t *rapid.T, run int, want, got *ledger.Commit) {
	for _, c := range []*ledger.Commit{want, got} { // alerts come in the order of the ledger
		if len(c.Findings) == 0 {
			c.Findings = nil
		}
	}
	if !reflect.DeepEqual(want, got) {
		t.Fatalf("run %d by all findings:\n%+v\n%sby what is remembered:\n%+v\n%s", run, want, noticesOf(want), got, noticesOf(got))
	}
}

func noticesOf(c *ledger.Commit) (text string) {
	for _, n := range c.Notices {
		text += fmt.Sprintf("  %s %s %s\n", n.Notice.Status, n.Notice.Key, n.Notice.Title)
	}
	return text
}

func compiled(t *rapid.T, r *rules.Rule) *Pass {
	types := catalog.Catalog{"REP_NOTICE": {Code: "REP_NOTICE", ID: 1, Retention: time.Hour, Fields: map[string]catalog.Field{"bin": {Type: catalog.String}}}}
	program, problems := rules.Compile(r, openColumns, types)
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	scoped, err := NewScopedRule(r, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	scoped.Program = program
	return &Pass{ScopedRule: scoped, Begun: time.Now(), Silencer: silencer{}, Log: slog.New(slog.DiscardHandler)}
}

// A run whose outline differs from the ledger ends without a record.
func TestOpenThatIsNotTheLedgers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := &openNode{ledger: newMemoryLedger()}
		p := compiled(t, drawRule(t, false))
		p.Due, p.Started = eight, eight
		n.open = finding.NewOpen([]finding.State{{Key: `["z"]`, Phase: finding.Firing, Ordinal: 1}})
		p.Prepared = givenRows{columns: openColumns, rows: []*row.Row{{Columns: openColumns, Values: []row.Value{row.TextOf("a"), row.IntOf(-7), row.TextOf("W1"), row.TextOf("A")}}}}
		p.Open = n.ledger.open
		if result := p.Scan(t.Context(), p.BeginOpen(n.ledger.state, n.open)); result.Unread == nil {
			t.Fatalf("%+v", result)
		}
	})
}

// TestUnreadableFindings: when the ledger does not answer, the run has no result, and the source is not blamed.
func TestUnreadableFindings(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := compiled(t, drawRule(t, false))
		p.Due, p.Started = eight, eight
		p.Prepared = givenRows{columns: openColumns}
		down := errors.New("the ledger is down")
		p.Open = func(context.Context, []finding.Hash) ([]finding.State, error) { return nil, down }
		open := finding.NewOpen([]finding.State{{Key: `["z"]`, Phase: finding.Pending}})
		result := p.Scan(t.Context(), p.BeginOpen(ledger.ScopeState{}, open))
		if keeps := p.Policy.KeepLast; keeps == errors.Is(result.Unread, down) {
			t.Fatalf("no_data keeps: %v, %v", keeps, result.Unread)
		}
	})
}
