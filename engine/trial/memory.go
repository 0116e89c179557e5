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

// Start is what a trial begins with: nothing, or what a ledger knows of the rule.
type Start struct {
	State    ledger.ScopeState // a zero Registered means known since the first run
	Findings []finding.State
	Notices  map[string]*notice.Notice // those that the findings name
	LookBack ledger.LookBack
	Silencer judge.Silencer // nothing is silenced
	Term     ledger.Term    // the clock term in force; the term of State where that is a later one
	// Told returns those of the notices that were made before the trial; nil = none was, but for Notices.
	Told func(ctx context.Context, ids []string) (map[string]*notice.Notice, error)
}

// Ledger is what a trial's start is read from: a ledger, also one that is open for reading only.
type Ledger interface{ ledger.ScopeReader }

// From reads what the ledger knows of the rule in the scope. A rule that it does not know begins with nothing,
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

// memory stands in for the ledger: it keeps what a run would read and commit, of one rule in one scope.
type memory struct {
	state    ledger.ScopeState
	lookBack ledger.LookBack
	findings map[string]finding.State
	notices  map[string]*notice.Notice
	targets  map[string][]ledger.Target // of the notices that the trial has made
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

// list are the findings, in no order.
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

// follow leaves a resolution those targets where the notice that it takes back has gone out, if every attempt succeeds
// and nobody reads anything. Where a notice of before the trial went is not known.
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

// apply keeps what a run would commit, as strictly as a ledger does.
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

// tap is a source that keeps the rows which it hands out.
type tap struct {
	source scanners.Source // nil where there is none
	forms  map[string]row.Form
	rows   []*row.Row
	budget judge.Budget
	passes bool // rows pass by and are not kept
}

// mostRows is how many rows a run of a trial keeps: it holds them all, whereas a firing lets them pass.
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

// tapped is a probe of such a source.
type tapped struct {
	scanners.PreparedProbe
	tap *tap
}

func (p tapped) Scan(ctx context.Context, req scanners.Request, visit func(*row.Row) error) (scanners.Result, error) {
	if p.tap.passes {
		return p.PreparedProbe.Scan(ctx, req, visit)
	}
	return p.PreparedProbe.Scan(ctx, req, func(r *row.Row) error {
		if len(p.tap.rows) == mostRows {
			return &judge.Error{Code: "too_many_rows", Message: fmt.Sprintf("more than %d rows cannot be looked at together: narrow the probe", mostRows)}
		}
		if err := p.tap.budget.Spend(r.Size()); err != nil {
			return err
		}
		p.tap.rows = append(p.tap.rows, r.Clone())
		return visit(r)
	})
}
