package overview

import (
	"slices"
	"time"

	"tallyman/engine"
	"tallyman/internal/api"
	"tallyman/internal/api/view"
	"tallyman/internal/item"
	"tallyman/internal/ledger"
	"tallyman/internal/wire"
)

// outlook is the result of a look, for all warehouses. outlook is never changed afterwards, because callers share it.
type outlook struct {
	at       time.Time
	node     NodeReport
	rules    map[string]*wire.RuleHealthForm // By scope.
	paused   *wire.SwitchForm
	problems int
	faulty   time.Time // Since when the rule files have problems.
	notices  counted
	findings []ledger.FindingCount
	queues   []queueLook
	sinks    []wire.SinkForm
	counts   view.PendingCounts // Counts of deliveries by sink.
	stale    []string

	staleSince time.Time // Time of the first look that lacked a part; all looks since then lacked a part.
}

// form returns the outlook for these warehouses; none = all warehouses. Texts that belong to no warehouse are only for
// callers who see everything.
func (o *outlook) form(warehouses []string, everywhere bool) *wire.OverviewForm {
	sees := func(warehouse string) bool { return len(warehouses) == 0 || slices.Contains(warehouses, warehouse) }
	f := &wire.OverviewForm{
		At: o.at.UTC(), Node: o.node.Node, Version: o.node.Version, Paused: o.paused, Problems: o.problems, ProblemsSince: wire.Moment(o.faulty), Findings: []wire.FindingCountForm{},
		Queues: o.queueForms(warehouses), Sinks: wire.NotNil(o.sinks), Nodes: wire.NotNil(o.node.Nodes), Health: wire.NotNil(o.node.Health), Stale: o.stale, StaleSince: wire.Moment(o.staleSince),
	}
	if !everywhere {
		f.Sinks, f.Health = wire.NotNil(api.OwnSinks(f.Sinks)), wire.NotNil(api.OwnHealth(f.Health))
	}
	for scope, n := range o.rules {
		if scope == "" || sees(scope) { // The same rules as in a summary of an inbox.
			addHealth(&f.Rules, n)
		}
	}
	for _, h := range o.notices.hours {
		hour := wire.NoticeHourForm{Start: h.start.UTC()}
		for cell, n := range h.tallies {
			if sees(cell.Warehouse) {
				hour.Count, hour.Urgent = hour.Count+n.count, hour.Urgent+n.urgent
			}
		}
		f.Notices.Hours = append(f.Notices.Hours, hour)
	}
	for cell, n := range o.notices.lastHour {
		if sees(cell.Warehouse) {
			f.Notices.LastHour += n.count
		}
	}
	for _, n := range o.findings {
		if sees(n.Warehouse) {
			f.Findings = append(f.Findings, wire.FindingCountForm(n))
		}
	}
	return f
}

// queueLook is the depth of a queue at a time.
type queueLook struct {
	name  string
	at    time.Time
	sizes *item.Sizes
	queue *view.ServedQueue
}

// queueForms returns the queues for these warehouses; none = all warehouses.
func (o *outlook) queueForms(warehouses []string) []wire.QueueForm {
	forms := make([]wire.QueueForm, len(o.queues))
	var scope item.Scope
	if len(warehouses) > 0 {
		scope = warehouses
	}
	for i, q := range o.queues {
		sizes := q.sizes.Of(scope)
		forms[i] = view.NewQueueForm(q.name, false, &sizes, q.queue, q.at)
	}
	return forms
}

// countRule counts a rule in a scope under its health.
func countRule(f *wire.RuleHealthForm, s *engine.RuleStatus, promoted bool) {
	since := wire.Moment(s.Since)
	one := wire.RuleHealthForm{}
	switch view.HealthOf(s) {
	case "ok":
		one.OK = 1
	case "degraded":
		one.Degraded, one.DegradedSince = 1, since
	case "failing":
		one.Failing, one.FailingSince = 1, since
	case "unverified":
		one.Unverified, one.UnverifiedSince = 1, since
	case "late":
		one.Late, one.LateSince = 1, since
	case "waiting":
		one.Waiting = 1
	case "disabled":
		one.Disabled = 1
	}
	if s.Rule.Shadow && !promoted {
		one.Shadow = 1
	}
	addHealth(f, &one)
}

func addHealth(f, other *wire.RuleHealthForm) {
	f.OK, f.Degraded, f.Failing = f.OK+other.OK, f.Degraded+other.Degraded, f.Failing+other.Failing
	f.Unverified, f.Late, f.Waiting = f.Unverified+other.Unverified, f.Late+other.Late, f.Waiting+other.Waiting
	f.Disabled, f.Shadow = f.Disabled+other.Disabled, f.Shadow+other.Shadow
	f.DegradedSince, f.FailingSince = first(f.DegradedSince, other.DegradedSince), first(f.FailingSince, other.FailingSince)
	f.UnverifiedSince, f.LateSince = first(f.UnverifiedSince, other.UnverifiedSince), first(f.LateSince, other.LateSince)
}

// first returns the earlier of two times; nil is no time.
func first(a, b *time.Time) *time.Time {
	if a == nil || b != nil && b.Before(*a) {
		return b
	}
	return a
}
