package metrics

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"tallyman/internal/ledger"
)

// RuleState is the state of a rule in one scope.
type RuleState struct {
	Rule            string
	State           string // One of ruleStates.
	Pending, Firing int    // Findings after the last run on any node.

	Failed, Degraded bool          // Outcome of the last run of an enabled rule.
	Overdue          time.Duration // How long the next firing is overdue.
	Late             bool          // The firing is overdue for too long.
}

// ruleStates are the states of a rule in a scope. Each state has a series, so the sum over the states is the number of
// rules, each scope counted.
var ruleStates = []string{"ok", "degraded", "failing", "late", "unverified", "disabled"}

// Rules has gauges of rules. Rules reads their state at each scrape. The values are the same on every node, unless a
// node alone cannot reach a source. Rules are a label, because a person is responsible for each rule. Scopes are no
// label: a site with 2,000 rules in 30 warehouses would have 60,000 series of each kind. `tallyman rules show` and GET
// /status tell the scope.
type Rules struct {
	metrics                  *Metrics
	read                     func(ctx context.Context) []RuleState
	findings, failing, rules *prometheus.Desc
	degraded, late, overdue  *prometheus.Desc
	dropped                  *prometheus.Desc
}

// rulesTimeout is the time for reading the state of the rules in a scrape.
const rulesTimeout = 5 * time.Second

// NewRules makes the gauges. read caches its result for some seconds, and must return when its context ends; nil = the
// state is unknown. Each scrape also removes the series of rules that are in no file any more.
func NewRules(m *Metrics, read func(ctx context.Context) []RuleState) *Rules {
	return &Rules{
		metrics: m, read: read,
		findings: prometheus.NewDesc(namespace+"_findings", "Open findings of a rule after its last runs, in all its scopes, by state: pending or firing. The same on every node.",
			[]string{"rule", "state"}, nil),
		failing: prometheus.NewDesc(namespace+"_rule_failing", "1 while the last run of a rule failed, or the rule cannot run, in at least one of its scopes. The same on every node, unless a node alone cannot reach a source.",
			[]string{"rule"}, nil),
		rules: prometheus.NewDesc(namespace+"_rules", "Rules, each scope counted, by state: ok, degraded (the last run could not judge some rows), failing (the last run failed), late (the next firing is overdue), unverified (it cannot run) or disabled.",
			[]string{"state"}, nil),
		dropped: prometheus.NewDesc(namespace+"_rule_series_dropped", "Series of healthy rules that telemetry.metrics.max_rules drops. A rule that fails, is late or degraded always has its series.",
			nil, nil),
		degraded: prometheus.NewDesc(namespace+"_rule_degraded", "1 while the last run of a rule could not judge or report some rows, in at least one of its scopes. The same on every node.",
			[]string{"rule"}, nil),
		late: prometheus.NewDesc(namespace+"_rule_late", "1 while a firing of a rule is overdue by more than a minute and its interval (five minutes of it at most) in at least one of its scopes.",
			[]string{"rule"}, nil),
		overdue: prometheus.NewDesc(namespace+"_rule_overdue_seconds", "How long the next firing of a rule has been overdue, in the scope that is most overdue; 0 = none is due.",
			[]string{"rule"}, nil),
	}
}

// Describe implements prometheus.Collector.
func (r *Rules) Describe(ch chan<- *prometheus.Desc) {
	ch <- r.findings
	ch <- r.failing
	ch <- r.rules
	ch <- r.degraded
	ch <- r.late
	ch <- r.overdue
	ch <- r.dropped
}

// ruleSum is the state of a rule over all its scopes.
type ruleSum struct {
	pending, firing         int
	failing, degraded, late bool
	overdue                 time.Duration
}

// Collect implements prometheus.Collector.
func (r *Rules) Collect(ch chan<- prometheus.Metric) {
	ctx, done := context.WithTimeout(context.Background(), rulesTimeout)
	defer done()
	list := r.read(ctx)
	if list == nil {
		return
	}
	sums, states := map[string]*ruleSum{}, map[string]int{}
	var ids []string
	for _, s := range list {
		sum := sums[s.Rule]
		if sum == nil {
			sum = &ruleSum{}
			sums[s.Rule], ids = sum, append(ids, s.Rule)
		}
		sum.pending += s.Pending
		sum.firing += s.Firing
		sum.failing = sum.failing || s.Failed || s.State == "unverified"
		sum.degraded, sum.late = sum.degraded || s.Degraded, sum.late || s.Late
		sum.overdue = max(sum.overdue, s.Overdue)
		states[s.State]++
	}
	slices.Sort(ids)
	kept := r.metrics.withSeries(ids, sums)
	r.metrics.KeepRules(kept)
	gauge := func(desc *prometheus.Desc, value float64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, value, labels...)
	}
	for _, id := range kept {
		sum := sums[id]
		gauge(r.findings, float64(sum.pending), id, "pending")
		gauge(r.findings, float64(sum.firing), id, "firing")
		gauge(r.failing, oneIf(sum.failing), id)
		gauge(r.degraded, oneIf(sum.degraded), id)
		gauge(r.late, oneIf(sum.late), id)
		gauge(r.overdue, sum.overdue.Seconds(), id)
	}
	gauge(r.dropped, float64(len(ids)-len(kept))*seriesOfRule)
	for _, state := range ruleStates {
		gauge(r.rules, float64(states[state]), state)
	}
}

// seriesOfRule is the number of series of a rule below the cap: two gauges of findings, four of its health, and a
// counter for each outcome.
const seriesOfRule = 2 + 4 + 4

// withSeries returns the rules that have series: the first by name up to the cap, and above the cap each rule that is
// not well.
func (m *Metrics) withSeries(ids []string, sums map[string]*ruleSum) []string {
	most := min(len(ids), cmp.Or(m.rules.most, maxNames))
	kept := slices.Clone(ids[:most])
	for _, id := range ids[most:] {
		if s := sums[id]; s.failing || s.degraded || s.late {
			kept = append(kept, id)
		}
	}
	return kept
}

// CapRules sets the maximum number of rules that have series while they are well; 0 = 2,000. Call CapRules before
// anything is counted.
func (m *Metrics) CapRules(most int) { m.rules.most = most }

// outcomes are the outcomes of runs.
var outcomes = []ledger.Outcome{ledger.OutcomeOK, ledger.OutcomeDegraded, ledger.OutcomeFailed, ledger.OutcomeSkipped}

// rowOutcomes are the outcomes of rows.
var rowOutcomes = [...]string{"matched", "unmatched", "errored", "stray"}

// KeepRules sets the present rules. Other rules lose their series, and later counts of them go to other. A new rule
// starts at 0, because Prometheus sees no increase in a series that begins with 1.
func (m *Metrics) KeepRules(ids []string) {
	come, gone := m.rules.keep(ids)
	for _, id := range gone { // Series by series, because a partial match would search the series of all rules.
		for _, outcome := range outcomes {
			m.runs.DeleteLabelValues(id, string(outcome))
		}
		for _, outcome := range rowOutcomes {
			m.rows.DeleteLabelValues(id, outcome)
		}
		m.runSeconds.DeleteLabelValues(id)
	}
	for _, id := range come {
		for _, outcome := range outcomes {
			m.runs.WithLabelValues(id, string(outcome))
		}
	}
}

// KeepSink adds a sink with the outcomes of its deliveries, and starts their counters at 0.
func (m *Metrics) KeepSink(name string, outcomes []string) {
	for _, outcome := range outcomes {
		m.deliveries.WithLabelValues(m.sinks.bounded(name), outcome)
	}
}

// The outcomes of reading the rule files.
const (
	reloadOK       = "ok"
	reloadProblems = "problems"
	reloadFailed   = "failed"
)

// RulesRead counts a reading of the rule files that came into force.
func (m *Metrics) RulesRead(problems int) {
	outcome := reloadOK
	if problems > 0 {
		outcome = reloadProblems
	}
	m.reloads.WithLabelValues(outcome).Inc()
	m.problems.Set(float64(problems))
	m.lastReload.SetToCurrentTime()
}

// RulesNotRead counts a reading that failed. The rules stay as they were.
func (m *Metrics) RulesNotRead() { m.reloads.WithLabelValues(reloadFailed).Inc() }
