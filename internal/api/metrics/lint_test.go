package metrics_test

import (
	"context"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil/promlint"

	"tallyman/internal/api/metrics"
	"tallyman/internal/item"
	"tallyman/internal/ledger"
)

// everything is the metrics of a node that has seen all there is to count.
func everything(t *testing.T) *metrics.Metrics {
	t.Helper()
	m := newMetrics(t)
	sizes := &item.Sizes{Levels: []item.Level{{Priority: 5, Ready: 1, Oldest: time.Now()}}, Warehouses: []item.Depth{{Warehouse: "119240", Ready: 1}}}
	for _, register := range []error{
		m.Register(metrics.NewQueues(map[string]metrics.Sizer{"q": &sizer{sizes: sizes}})),
		m.Register(metrics.NewPushes(map[string]func() metrics.Push{"gateway": func() metrics.Push { return metrics.Push{Breaker: "closed"} }})),
		m.Register(metrics.NewNode(func(context.Context) metrics.NodeState {
			return metrics.NodeState{
				Ready: true, Clock: &metrics.Clock{Term: 1, Unconfirmed: time.Hour}, Waiting: map[string]int64{"inbox": 1}, Oldest: map[string]time.Duration{"inbox": time.Minute},
				Restored: time.UnixMilli(1500), Withheld: map[string]int64{"work": 1}, Lists: []metrics.List{{Kind: "subscriptions", Name: "wms", Fails: true}},
			}
		})),
		m.Register(metrics.NewRules(m, func(context.Context) []metrics.RuleState { return []metrics.RuleState{{Rule: "a", State: "ok"}} })),
	} {
		if register != nil {
			t.Fatal(register)
		}
	}
	m.KeepRules([]string{"a"})
	m.RunDone(ledger.Run{Rule: "a", Outcome: ledger.OutcomeOK, Rows: 3, Matched: 1, Errored: 1, Duration: time.Second})
	m.NoticeMade("REP_NOTICE", "firing")
	m.DeliveryDone("inbox", "sent", 1)
	m.DeliveryTook("inbox", time.Second)
	m.FiringLag(time.Second)
	m.PollDone("empty", time.Second)
	m.StreamOpened()
	m.StreamEnded("client")
	m.RequestDone("status", 200)
	m.RulesRead(1)
	m.RulesNotRead()
	return m
}

// Names and helps are as Prometheus wants them: units, _total, base units.
func TestNamesFollowTheConventions(t *testing.T) {
	t.Parallel()
	families, err := everything(t).Gatherer().Gather()
	if err != nil {
		t.Fatal(err)
	}
	problems, err := promlint.NewWithMetricFamilies(families).Lint()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		if strings.HasPrefix(p.Metric, "tallyman_") { // others are the client library's own
			t.Errorf("%s: %s", p.Metric, p.Text)
		}
	}
}

// labelsOf are the labels of each of our metrics.
func labelsOf(t *testing.T) map[string][]string {
	t.Helper()
	families, err := everything(t).Gatherer().Gather()
	if err != nil {
		t.Fatal(err)
	}
	labels := map[string][]string{}
	for _, f := range families {
		if !strings.HasPrefix(f.GetName(), "tallyman_") {
			continue
		}
		labels[f.GetName()] = []string{}
		for _, l := range f.GetMetric()[0].GetLabel() {
			labels[f.GetName()] = append(labels[f.GetName()], l.GetName())
		}
	}
	return labels
}

var documented = regexp.MustCompile("(?m)^\\| `(tallyman_[a-z_]+)` \\| ([^|]*) \\|$")

// The table of docs/reference/api.md has every metric, each with its labels, and no other.
func TestEveryMetricIsDocumented(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../../docs/reference/api.md")
	if err != nil {
		t.Fatal(err)
	}
	labels := labelsOf(t)
	seen := map[string]bool{}
	for _, row := range documented.FindAllStringSubmatch(string(text), -1) {
		seen[row[1]] = true
		want, ok := labels[row[1]]
		if !ok {
			t.Errorf("docs/reference/api.md has %s, which there is not", row[1])
		}
		for _, label := range want {
			if !strings.Contains(row[2], "`"+label+"`") {
				t.Errorf("docs/reference/api.md says nothing of the label %s of %s", label, row[1])
			}
		}
	}
	for name := range labels {
		if !seen[name] {
			t.Errorf("docs/reference/api.md has no %s", name)
		}
	}
	if !slices.Contains(labels["tallyman_runs_total"], "rule") {
		t.Error("the labels were not read")
	}
}
