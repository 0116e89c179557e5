package engine

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"tallyman/internal/finding"
	"tallyman/internal/ledger"
	"tallyman/internal/notice"
	"tallyman/rules/catalog"
)

// memory is the ledger of a trial: what a run asks of it, for one rule in one scope. A trial claims and delivers nothing, so the
// other methods are never called.
type memory struct {
	Ledger
	state    ledger.ScopeState
	findings map[string]finding.State
	notices  map[string]*notice.Notice
	targets  map[string][]ledger.Target // of the notices that the trial has made
	types    catalog.Catalog
}

func newMemory(types catalog.Catalog, start TrialStart) *memory {
	m := &memory{state: start.State, findings: map[string]finding.State{}, notices: map[string]*notice.Notice{}, targets: map[string][]ledger.Target{}, types: types}
	for _, f := range start.Findings {
		m.findings[f.Key] = f
	}
	maps.Copy(m.notices, start.Notices)
	return m
}

func (m *memory) Types(context.Context) (catalog.Catalog, error) { return m.types, nil }

func (m *memory) TypesVersion(context.Context) (int64, error) { return 1, nil }

func (m *memory) Demote(context.Context, ledger.Author, string, string) error { return nil }

func (m *memory) Scope(context.Context, string, string) (ledger.ScopeState, error) {
	return m.state, nil
}

func (m *memory) Findings(context.Context, string, string) ([]finding.State, error) {
	list := make([]finding.State, 0, len(m.findings))
	for _, f := range m.findings {
		list = append(list, f)
	}
	return list, nil
}

func (m *memory) Notices(_ context.Context, ids []string) (map[string]*notice.Notice, error) {
	found := map[string]*notice.Notice{}
	for _, id := range ids {
		if n := m.notices[id]; n != nil {
			found[id] = n
		}
	}
	return found, nil
}

// follow leaves a resolution those targets where the notice that it takes back has gone out, if every attempt succeeds and nobody reads
// anything. Where a notice of before the trial went is not known.
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
	if !c.Again {
		m.state.Done = c.Run.Due
	}
	return nil
}
