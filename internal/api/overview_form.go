package api

import (
	"encoding/xml"
	"slices"
	"time"

	"tallyman/engine"
)

type (
	// OverviewForm is how everything is, at a glance.
	OverviewForm struct {
		XMLName  xml.Name           `json:"-" xml:"overview"`
		At       time.Time          `json:"at" xml:"at" doc:"when this was looked up"`
		Node     string             `json:"node" xml:"node" doc:"the name of the node that answers"`
		Version  string             `json:"version" xml:"version" doc:"of the program"`
		Rules    RuleHealthForm     `json:"rules" xml:"rules" doc:"each scope of a rule counts; of the warehouses, and those without scopes"`
		Paused   *SwitchForm        `json:"paused,omitempty" xml:"paused,omitempty" doc:"every rule is stopped"`
		Problems int                `json:"problems" xml:"problems" doc:"of the rule files, which GET /rules lists"`
		Notices  NoticeCountsForm   `json:"notices" xml:"notices" doc:"that were made, for these warehouses"`
		Findings []FindingCountForm `json:"findings" xml:"findings>warehouse" doc:"that are open, by the warehouse of their notice; before there is one, by their scope" nullable:"false"`
		Queues   []QueueForm        `json:"queues" xml:"queues>queue" doc:"in the order of their names" nullable:"false"`
		Sinks    []SinkForm         `json:"sinks" xml:"sinks>sink" doc:"in the order of their names" nullable:"false"`
		Nodes    []NodeStatus       `json:"nodes" xml:"nodes>node" doc:"that run, the one that answers among them" nullable:"false"`
		Health   []Health           `json:"health" xml:"health>dependency" doc:"what the node depends on" nullable:"false"`
		Stale    []string           `json:"stale,omitempty" xml:"stale>part,omitempty" enum:"rules,notices,findings,queues,sinks" doc:"parts that could not be looked up: they are as they were before, or empty, and health says why" nullable:"false"`
	}
	// RuleHealthForm is how many rules are in which health, each scope for itself.
	RuleHealthForm struct {
		OK         int `json:"ok" xml:"ok,attr"`
		Degraded   int `json:"degraded" xml:"degraded,attr"`
		Failing    int `json:"failing" xml:"failing,attr"`
		Unverified int `json:"unverified" xml:"unverified,attr"`
		Waiting    int `json:"waiting" xml:"waiting,attr"`
		Disabled   int `json:"disabled" xml:"disabled,attr"`
		Shadow     int `json:"shadow" xml:"shadow,attr" doc:"of all these, those in shadow that are not promoted"`
	}
	// NoticeCountsForm is how many notices were made lately.
	NoticeCountsForm struct {
		Hours    []NoticeHourForm `json:"hours" xml:"hour" doc:"the last 24, the running one among them as the last" nullable:"false"`
		LastHour int64            `json:"lastHour" xml:"lastHour,attr" doc:"in the last 60 minutes, the running one among them"`
	}
	// NoticeHourForm is how many notices were made in an hour.
	NoticeHourForm struct {
		Start  time.Time `json:"start" xml:"start,attr"`
		Count  int64     `json:"count" xml:"count,attr"`
		Urgent int64     `json:"urgent" xml:"urgent,attr" doc:"of those, the ones of priority 4 and 5"`
	}
	// FindingCountForm is how many findings are open in a warehouse.
	FindingCountForm struct {
		Warehouse string `json:"warehouse" xml:"name,attr" doc:"empty: of rules without scopes, before there is a notice"`
		Firing    int64  `json:"firing" xml:"firing,attr"`
		Pending   int64  `json:"pending" xml:"pending,attr"`
	}
)

// add counts a rule in a scope.
func (f *RuleHealthForm) add(s *engine.RuleStatus, promoted bool) {
	switch healthOf(s) {
	case "ok":
		f.OK++
	case "degraded":
		f.Degraded++
	case "failing":
		f.Failing++
	case "unverified":
		f.Unverified++
	case "waiting":
		f.Waiting++
	case "disabled":
		f.Disabled++
	}
	if s.Rule.Shadow && !promoted {
		f.Shadow++
	}
}

func (f *RuleHealthForm) sum(other *RuleHealthForm) {
	f.OK, f.Degraded, f.Failing = f.OK+other.OK, f.Degraded+other.Degraded, f.Failing+other.Failing
	f.Unverified, f.Waiting, f.Disabled, f.Shadow = f.Unverified+other.Unverified, f.Waiting+other.Waiting, f.Disabled+other.Disabled, f.Shadow+other.Shadow
}

// form is what those see of the outlook who see these warehouses; none = all of them. Texts that belong to no warehouse are for those who see
// everything.
func (o *outlook) form(warehouses []string, everywhere bool) *OverviewForm {
	sees := func(warehouse string) bool { return len(warehouses) == 0 || slices.Contains(warehouses, warehouse) }
	f := &OverviewForm{
		At: o.at.UTC(), Node: o.node.Node, Version: o.node.Version, Paused: o.paused, Problems: o.problems, Findings: []FindingCountForm{},
		Queues: o.queueForms(warehouses), Sinks: notNil(o.sinks), Nodes: notNil(o.node.Nodes), Health: notNil(o.node.Health), Stale: o.stale,
	}
	if !everywhere {
		f.Sinks, f.Health = notNil(ownSinks(f.Sinks)), notNil(ownHealth(f.Health))
	}
	for scope, n := range o.rules {
		if scope == "" || sees(scope) { // as the rules of a summary
			f.Rules.sum(n)
		}
	}
	for _, h := range o.notices.hours {
		hour := NoticeHourForm{Start: h.start.UTC()}
		for warehouse, n := range h.tallies {
			if sees(warehouse) {
				hour.Count, hour.Urgent = hour.Count+n.count, hour.Urgent+n.urgent
			}
		}
		f.Notices.Hours = append(f.Notices.Hours, hour)
	}
	for warehouse, n := range o.notices.lastHour {
		if sees(warehouse) {
			f.Notices.LastHour += n.count
		}
	}
	for _, n := range o.findings {
		if sees(n.Warehouse) {
			f.Findings = append(f.Findings, FindingCountForm(n))
		}
	}
	return f
}

// seenEvery is how often streams hear that the nodes are still there when nothing else has changed.
const seenEvery = 15 * time.Second

// lasting is the form without what time alone changes.
func (f *OverviewForm) lasting() *OverviewForm {
	same := *f
	same.At = time.Time{}
	same.Nodes = slices.Clone(f.Nodes)
	for i := range same.Nodes {
		same.Nodes[i].Seen = same.Nodes[i].Seen.Truncate(seenEvery)
	}
	same.Queues = slices.Clone(f.Queues)
	for i := range same.Queues {
		same.Queues[i].Levels = slices.Clone(same.Queues[i].Levels)
		for j := range same.Queues[i].Levels {
			same.Queues[i].Levels[j].OldestSeconds = 0
		}
	}
	return &same
}
