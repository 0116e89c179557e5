package app

import (
	"context"
	"maps"
	"slices"

	"tallyman/engine"
	"tallyman/internal/api"
	"tallyman/internal/ledger"
)

// status answers even where parts are out of reach: their health says so.
func (a *App) status(ctx context.Context) (api.StatusReport, error) {
	r := api.StatusReport{
		Version: a.opts.Version, Node: a.opts.Node, Started: a.started.UTC(),
		Rules: []api.RuleStatus{}, Problems: []api.FileProblem{}, Deliveries: []api.DeliveryCount{},
	}
	r.Health = append(r.Health, a.ledgerHealth.report("ledger", "", a.pingLedger(ctx)))
	r.Health = append(r.Health, a.indexHealth.report("redis", a.index.sink, a.index.inbox.Ready()))
	for _, name := range slices.Sorted(maps.Keys(a.index.queues)) {
		q := a.index.queues[name]
		r.Health = append(r.Health, q.health.report("redis", name, q.Ready()))
	}
	r.Health = append(r.Health, a.pushes.reports()...)
	for _, name := range slices.Sorted(maps.Keys(a.sources)) {
		s := a.sources[name]
		r.Health = append(r.Health, s.health.report("source", name, pingSource(ctx, s)))
	}
	if a.tls != nil {
		r.Health = append(r.Health, a.tlsHealth.report("tls", "", a.tls.Pair.Check()))
	}
	units, err := a.engine.Status(ctx)
	if err != nil {
		a.log.Warn("last runs not read", "error", err)
	}
	for _, u := range units {
		r.Rules = append(r.Rules, ruleStatus(u))
	}
	for _, p := range a.set.Problems {
		r.Problems = append(r.Problems, api.FileProblem{
			Code: p.Code, File: p.File, Line: p.Line, Col: p.Col, Message: p.Message, Hint: p.Hint, Rule: p.Rule,
		})
	}
	if counts, err := a.ledger.CountDeliveries(ctx); err != nil {
		a.log.Warn("deliveries not counted", "error", err)
	} else {
		r.Deliveries = deliveryCounts(counts)
	}
	return r, nil
}

func pingSource(ctx context.Context, s *source) error {
	ctx, cancel := context.WithTimeout(ctx, pingTimeout)
	defer cancel()
	return s.Ping(ctx)
}

func ruleStatus(u engine.RuleStatus) api.RuleStatus {
	s := api.RuleStatus{
		ID: u.Rule.ID, Scope: u.Rule.Scope, Title: u.Rule.Title, Source: u.Rule.Source, File: u.Rule.File,
		Enabled: u.Rule.Enabled, Verified: u.Verified, Reason: u.Reason,
	}
	s.Warnings, s.Shadow = u.Warnings, u.Rule.Shadow
	s.Recent = api.NewRecent(u.Judged)
	if !u.Promoted.IsZero() {
		promoted := u.Promoted.UTC()
		s.Promoted = &promoted
	}
	if !u.NextDue.IsZero() {
		next := u.NextDue.UTC()
		s.NextDue = &next
	}
	if u.LastRun != nil {
		s.LastRun = api.NewRunStatus(u.LastRun)
		s.Pending, s.Firing = u.LastRun.Pending, u.LastRun.Firing
	}
	return s
}

func deliveryCounts(counts map[string]map[ledger.DeliveryState]int64) []api.DeliveryCount {
	list := []api.DeliveryCount{}
	for _, sink := range slices.Sorted(maps.Keys(counts)) {
		for _, state := range slices.Sorted(maps.Keys(counts[sink])) {
			list = append(list, api.DeliveryCount{Sink: sink, State: state.String(), Count: counts[sink][state]})
		}
	}
	return list
}
