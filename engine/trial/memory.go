package trial

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"tallyman/engine/judge"
	"tallyman/internal/finding"
	"tallyman/internal/ledger"
	"tallyman/internal/notice"
	"tallyman/rules/probe"
	"tallyman/rules/row"
	"tallyman/scanners"
)

// Start is what a trial begins with. The zero Start means the rule is new.
type Start struct {
	State    ledger.ScopeState // A zero Registered means the rule is known since the first run.
	Findings []finding.State
	Notices  map[string]*notice.Notice // The notices of Findings, keyed by id.
	LookBack ledger.LookBack
	Silencer judge.Silencer // Nil means nothing is silenced.
	Term     ledger.Term    // The clock term in force. The term of State counts where it is later.
	// Told reads notices that were made before the trial, by id. Nil means only the notices in Notices exist.
	Told func(ctx context.Context, ids []string) (map[string]*notice.Notice, error)
}

// Ledger is what From reads. A ledger that is open for reading only is enough.
type Ledger interface{ ledger.ScopeReader }

// From reads what the ledger knows of the rule in the scope. For a rule that the ledger does not know, start is zero
// and known is false.
func From(ctx context.Context, l Ledger, rule, scope string) (start Start, known bool, err error) {
	start.Told = l.Notices
	start.State, err = l.Scope(ctx, rule, scope)
	if errors.Is(err, ledger.ErrNotFound) {
		return Start{}, false, nil
	}
	if err != nil {
		return Start{}, false, err
	}
	if start.Findings, err = l.Findings(ctx, rule, scope); err != nil {
		return Start{}, false, err
	}
	if start.LookBack, err = l.LookBack(ctx, rule, scope); err != nil {
		return Start{}, false, err
	}
	var ids []string
	for _, f := range start.Findings {
		if f.NoticeID != "" {
			ids = append(ids, f.NoticeID)
		}
	}
	if len(ids) > 0 {
		if start.Notices, err = l.Notices(ctx, ids); err != nil {
			return Start{}, false, err
		}
	}
	return start, true, nil
}

// memory takes the place of the ledger in a trial: it holds what a run of the rule in its scope reads and commits.
type memory struct {
	state    ledger.ScopeState
	lookBack ledger.LookBack
	findings map[string]finding.State
	notices  map[string]*notice.Notice
	targets  map[string][]ledger.Target // Where the notices of the trial went, keyed by notice.
	told     func(ctx context.Context, ids []string) (map[string]*notice.Notice, error)
}

func newMemory(start Start) *memory {
	m := &memory{state: start.State, lookBack: start.LookBack, findings: map[string]finding.State{}, notices: map[string]*notice.Notice{}, targets: map[string][]ledger.Target{}, told: start.Told}
	for _, f := range start.Findings {
		m.findings[f.Key] = f
	}
	maps.Copy(m.notices, start.Notices)
	return m
}

// list returns the findings in no particular order.
func (m *memory) list() []finding.State { return slices.Collect(maps.Values(m.findings)) }

func (m *memory) Notices(ctx context.Context, ids []string) (map[string]*notice.Notice, error) {
	found := map[string]*notice.Notice{}
	if m.told != nil {
		told, err := m.told(ctx, ids)
		if err != nil {
			return nil, err
		}
		maps.Copy(found, told)
	}
	for _, id := range ids {
		if n := m.notices[id]; n != nil {
			found[id] = n
		}
	}
	return found, nil
}

// follow limits the targets of a resolution to the sinks to which its firing notice was delivered. follow assumes that
// every attempt succeeds and that nobody reads anything. For a firing notice that was made before the trial, follow
// does not know the deliveries and changes nothing.
func (m *memory) follow(n *ledger.NewNotice) {
	went, known := m.targets[n.After]
	if !known {
		return
	}
	after := m.notices[n.After]
	n.Sinks = slices.DeleteFunc(slices.Clone(n.Sinks), func(t ledger.Target) bool {
		return !slices.ContainsFunc(went, func(w ledger.Target) bool {
			return w.Sink == t.Sink && (w.Strategy == nil || !w.Strategy.First(after.CreatedAt).After(n.Notice.CreatedAt))
		})
	})
}

// apply stores what a run would commit. apply refuses a change that does not fit, as a ledger does.
func (m *memory) apply(c *ledger.Commit) error {
	for _, f := range c.Findings {
		if _, known := m.findings[f.Key]; known == (f.Op == ledger.Insert) {
			return fmt.Errorf("engine: finding %s: the change does not fit what is known", f.Key)
		}
		if f.Op == ledger.Delete {
			delete(m.findings, f.Key)
		} else {
			m.findings[f.Key] = f.State
		}
	}
	for i := range c.Notices {
		n := &c.Notices[i]
		m.follow(n)
		if m.notices[n.Notice.ID] == nil {
			m.notices[n.Notice.ID], m.targets[n.Notice.ID] = n.Notice, n.Sinks
		}
	}
	m.state.Scope = c.Scope
	if c.Watermark != nil {
		m.state.Watermark = c.Watermark
	}
	m.state.Initial = cmp.Or(c.Initial, m.state.Initial)
	m.lookBack = m.lookBack.Apply(c.LookBack)
	if !c.Again {
		m.state.Done = c.Run.Due
	}
	return nil
}

// tap is a source that keeps a copy of the rows that its probes return for the scope of the trial.
type tap struct {
	source scanners.Source // Nil means every Prepare fails.
	scoped *judge.ScopedRule
	forms  map[string]row.Form
	rows   []*row.Row
	budget judge.Budget
	passes bool // The tap does not keep rows.
}

// mostRows is the largest number of rows in a run of a trial. A trial keeps all rows in memory; a firing does not.
const mostRows = 100_000

var errNoSource = errors.New("engine: a trial without a source")

func (t *tap) Prepare(ctx context.Context, stmt *probe.Statement) (scanners.PreparedProbe, error) {
	if t.source == nil {
		return nil, errNoSource
	}
	p, err := scanners.PrepareForms(ctx, t.source, stmt, t.forms)
	if err != nil {
		return nil, err
	}
	return tapped{p, t}, nil
}

// tapped is a prepared probe of a tap.
type tapped struct {
	scanners.PreparedProbe
	tap *tap
}

func (p tapped) Scan(ctx context.Context, req scanners.Request, visit func(*row.Row) error) (scanners.Result, error) {
	if p.tap.passes {
		return p.PreparedProbe.Scan(ctx, req, visit)
	}
	return p.PreparedProbe.Scan(ctx, req, func(r *row.Row) error {
		if !p.tap.scoped.Owns(r) {
			return visit(r)
		}
		if len(p.tap.rows) == mostRows {
			return &judge.Error{Code: "too_many_rows", Message: fmt.Sprintf("a trial keeps at most %d rows: narrow the probe", mostRows)}
		}
		if err := p.tap.budget.Spend(r.Size()); err != nil {
			return err
		}
		p.tap.rows = append(p.tap.rows, r.Clone())
		return visit(r)
	})
}
