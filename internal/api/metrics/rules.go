package metrics

import (
	"context"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"tallyman/internal/ledger"
)

// RuleState is how a rule is in one scope.
type RuleState struct {
	Rule            string
	State           string // one of ruleStates
	Pending, Firing int    // findings after the last run, of any node
}

// ruleStates are what a rule can be in a scope. Each has a series, so that a sum over them is all there are.
var ruleStates = []string{"ok", "failing", "unverified", "disabled"}

// Rules are gauges of rules, read when they are scraped. They say the same on every node. Rules are a label, since a person answers for
// each; scopes are none: a site with 2,000 rules in 30 warehouses would have 60,000 series of each kind, and `tallyman rules show` and
// /status tell which scope it is.
type Rules struct {
	metrics                  *Metrics
	read                     func(ctx context.Context) []RuleState
	findings, failing, rules *prometheus.Desc
}

// rulesTimeout bounds the question behind a scrape.
const rulesTimeout = 5 * time.Second

// NewRules makes the gauges. read remembers what it has read for some seconds, and ends with its context; nil = it does not know. With each scrape
// the counters lose the series of rules that are in no file any more.
func NewRules(m *Metrics, read func(ctx context.Context) []RuleState) *Rules {
	return &Rules{
		metrics: m, read: read,
		findings: prometheus.NewDesc(namespace+"_findings", "Open findings of a rule after its last runs, in all its scopes, by state: pending or firing. The same on every node.",
			[]string{"rule", "state"}, nil),
		failing: prometheus.NewDesc(namespace+"_rule_failing", "1 while the last run of a rule has failed, or it cannot run, in one of its scopes at least. The same on every node but for what a node alone cannot reach.",
			[]string{"rule"}, nil),
		rules: prometheus.NewDesc(namespace+"_rules", "Rules, each scope counted, by state: ok, failing (the last run failed), unverified (it cannot run) or disabled.",
			[]string{"state"}, nil),
	}
}

// Describe names the gauges.
func (r *Rules) Describe(ch chan<- *prometheus.Desc) {
	ch <- r.findings
	ch <- r.failing
	ch <- r.rules
}

// ruleSum is a rule in all its scopes.
type ruleSum struct {
	pending, firing int
	failing         bool
}

// Collect asks how the rules are.
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
		sum.failing = sum.failing || s.State == "failing" || s.State == "unverified"
		states[s.State]++
	}
	slices.Sort(ids)
	r.metrics.KeepRules(ids)
	gauge := func(desc *prometheus.Desc, value float64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, value, labels...)
	}
	for _, id := range ids[:min(len(ids), maxNames)] {
		sum := sums[id]
		gauge(r.findings, float64(sum.pending), id, "pending")
		gauge(r.findings, float64(sum.firing), id, "firing")
		gauge(r.failing, oneIf(sum.failing), id)
	}
	for _, state := range ruleStates {
		gauge(r.rules, float64(states[state]), state)
	}
}

// outcomes are how runs end.
var outcomes = []ledger.Outcome{ledger.OutcomeOK, ledger.OutcomeDegraded, ledger.OutcomeFailed, ledger.OutcomeSkipped}

// KeepRules says which rules there are: the others lose their series, and what is still counted of them is counted together. A new one counts
// from 0: Prometheus sees no increase in a series that begins with 1.
func (m *Metrics) KeepRules(ids []string) {
	come, gone := m.rules.keep(ids)
	for _, id := range gone {
		labels := prometheus.Labels{"rule": id}
		m.runs.DeletePartialMatch(labels)
		m.rows.DeletePartialMatch(labels)
		m.runSeconds.DeletePartialMatch(labels)
	}
	for _, id := range come {
		for _, outcome := range outcomes {
			m.runs.WithLabelValues(id, string(outcome))
		}
	}
}

// KeepSink says that there is a sink whose deliveries end in one of these ways, and counts each from 0.
func (m *Metrics) KeepSink(name string, outcomes []string) {
	for _, outcome := range outcomes {
		m.deliveries.WithLabelValues(m.sinks.bounded(name), outcome)
	}
}

// How a reading of the rule files ends.
const (
	reloadOK       = "ok"
	reloadProblems = "problems"
	reloadFailed   = "failed"
)

// RulesRead counts a reading of the rule files that was put in force.
func (m *Metrics) RulesRead(problems int) {
	outcome := reloadOK
	if problems > 0 {
		outcome = reloadProblems
	}
	m.reloads.WithLabelValues(outcome).Inc()
	m.problems.Set(float64(problems))
	m.lastReload.SetToCurrentTime()
}

// RulesNotRead counts one that was not: the rules go on as they were.
func (m *Metrics) RulesNotRead() { m.reloads.WithLabelValues(reloadFailed).Inc() }
