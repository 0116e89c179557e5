package app

import (
	"context"
	"maps"
	"slices"

	"tallyman/engine"
	"tallyman/internal/api/view"
	"tallyman/internal/ledger"
	"tallyman/internal/wire"
)

// status answers even where parts are out of reach: their health says so.
func (a *App) status(ctx context.Context) (wire.StatusReport, error) {
	files := a.ruleFiles()
	r := wire.StatusReport{
		Version: a.opts.Version, Node: a.opts.Node, Started: a.started.UTC(),
		Rules: []wire.RuleStatus{}, Problems: files.Problems, Deliveries: []wire.DeliveryCount{},
	}
	node := a.node(ctx)
	r.Health, r.Nodes = node.Health, node.Nodes
	for _, s := range a.engine.Switches() {
		if s.Rule == ledger.Every {
			r.Paused = view.NewSwitchForm(&s)
		}
	}
	units, err := a.engine.Status(ctx)
	if err != nil {
		a.log.Warn("last runs not read", "error", err)
	}
	for _, u := range units {
		one := ruleStatus(u)
		one.Stale = files.Stale[one.ID]
		r.Rules = append(r.Rules, one)
	}
	if counts, err := a.ledger.CountDeliveries(ctx); err != nil {
		a.log.Warn("deliveries not counted", "error", err)
	} else {
		r.Deliveries = deliveryCounts(counts)
	}
	return r, nil
}

// ruleFiles is what the node knows of its rule files.
func (a *App) ruleFiles() view.RuleFiles {
	set, _, stale := a.book.get()
	return view.RuleFiles{Problems: fileProblems(set), Stale: stale, Version: a.engine.Version()}
}

func ruleStatus(u engine.RuleStatus) wire.RuleStatus {
	s := wire.RuleStatus{
		ID: u.Rule.ID, Scope: u.Rule.Scope, Title: u.Rule.Title, Source: u.Rule.Source, File: u.Rule.File,
		Enabled: u.Enabled, Switch: view.NewSwitchForm(u.Switch), Verified: u.Verified, Reason: u.Reason,
	}
	s.Warnings, s.Shadow = u.Warnings, u.Rule.Shadow
	s.Recent = view.NewRecent(u.Judged)
	if !u.Promoted.IsZero() {
		promoted := u.Promoted.UTC()
		s.Promoted = &promoted
	}
	if !u.NextDue.IsZero() {
		next := u.NextDue.UTC()
		s.NextDue = &next
	}
	if u.LastRun != nil {
		s.LastRun = view.NewRunStatus(u.LastRun)
		s.Pending, s.Firing = u.LastRun.Pending, u.LastRun.Firing
	}
	return s
}

func deliveryCounts(counts map[string]map[ledger.DeliveryState]int64) []wire.DeliveryCount {
	list := []wire.DeliveryCount{}
	for _, sink := range slices.Sorted(maps.Keys(counts)) {
		for _, state := range slices.Sorted(maps.Keys(counts[sink])) {
			list = append(list, wire.DeliveryCount{Sink: sink, State: state.String(), Count: counts[sink][state]})
		}
	}
	return list
}
