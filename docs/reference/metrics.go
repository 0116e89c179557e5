package main

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"tallyman/internal/api/metrics"
	"tallyman/internal/item"
	"tallyman/internal/ledger"
)

const metricsHead = `# Metrics

This page is generated from the code. It lists every metric of ` + "`/metrics`" + `. If ` + "`auth.mode`" + ` is token, a
request needs a token of a viewer, an operator or an admin, for all warehouses.

[Watch a site](../how-to/watch.md) says how to collect the metrics.
The rules for Prometheus in [deploy](../../deploy) use the metrics that show a fault.

- A counter counts from the start of the process. Look at its increase, never at its value.
- A gauge that is of the whole cluster, or the same on every node, is read from the ledger: take the largest, do not add the nodes up.
- A metric has no series where the node has nothing of the kind: no queue, no push channel, no list from a source.
  The clock's metrics need a ledger that nodes share (PostgreSQL).
`

// metricsPage lists every metric.
func metricsPage() (string, error) {
	families, err := gathered()
	if err != nil {
		return "", err
	}
	var own, library [][]string
	for _, f := range families {
		if strings.HasPrefix(f.name, ownMetrics) {
			own = append(own, []string{code(f.name), f.kind, strings.Join(f.labels, " "), unitOf(f.name), f.help})
		} else {
			library = append(library, []string{code(f.name), f.kind, unitOf(f.name), f.help})
		}
	}
	return metricsHead + "\n## Tallyman\n\n" + table([]string{"metric", "type", "labels", "unit", "meaning"}, own) +
		"\n## The Go runtime and the process\n\nThe client library of Prometheus makes these; which there are depends on the system.\n\n" +
		table([]string{"metric", "type", "unit", "meaning"}, library), nil
}

// unitOf says what a value counts, as the name does by its end.
func unitOf(name string) string {
	switch {
	case strings.HasSuffix(name, "_timestamp_seconds"), strings.HasSuffix(name, "_start_time_seconds"), strings.HasSuffix(name, "_time_seconds"):
		return "seconds since 1970"
	case strings.HasSuffix(name, "_seconds"), strings.HasSuffix(name, "_seconds_total"):
		return "seconds"
	case strings.HasSuffix(name, "_bytes"), strings.HasSuffix(name, "_bytes_total"):
		return "bytes"
	case strings.HasSuffix(name, "_percent"):
		return "percent"
	}
	return "count"
}

const ownMetrics = "tallyman_"

// metric is what the page says of a metric.
type metric struct {
	name, kind, help string
	labels           []string
}

// gathered are the metrics of a node that has seen all there is to count. One of ours that is described and has no series is an error: a
// metric that is new needs a line here.
func gathered() ([]metric, error) {
	m, err := metrics.New("v", "go")
	if err != nil {
		return nil, err
	}
	sizes := item.Sizes{Levels: []item.Level{{Priority: 5, Ready: 1, Oldest: time.Now()}}, Warehouses: []item.Depth{{Warehouse: "W1", Ready: 1}}}
	if err := errors.Join(
		m.Register(metrics.NewQueues(map[string]metrics.Sizer{"q": fullQueue{sizes}})),
		m.Register(metrics.NewPushes(map[string]func() metrics.Push{"gateway": func() metrics.Push { return metrics.Push{Breaker: "closed"} }})),
		m.Register(metrics.NewNode(func(context.Context) metrics.NodeState {
			return metrics.NodeState{
				Ready: true, Clock: &metrics.Clock{}, Waiting: map[string]int64{"inbox": 1}, Oldest: map[string]time.Duration{"inbox": 1},
				Withheld: map[string]int64{"q": 1}, Lists: []metrics.List{{Kind: "subscriptions", Name: "wms"}},
			}
		})),
		m.Register(metrics.NewRules(m, func(context.Context) []metrics.RuleState { return []metrics.RuleState{{Rule: "a", State: "ok"}} })),
	); err != nil {
		return nil, err
	}
	m.RunDone(ledger.Run{Rule: "a", Outcome: ledger.OutcomeOK, Rows: 1, Matched: 1, Duration: time.Second})
	m.NoticeMade("T", "firing")
	m.DeliveryDone("inbox", "sent", 1)
	m.DeliveryTook("inbox", time.Second)
	m.PollDone("empty", time.Second)
	m.StreamOpened()
	m.StreamEnded("client")
	m.RequestDone("status", 200)
	families, err := m.Gatherer().Gather()
	if err != nil {
		return nil, err
	}
	described, ok := m.Gatherer().(prometheus.Collector)
	if !ok {
		return nil, errors.New("the registry does not describe its metrics")
	}
	list := make([]metric, len(families))
	for i, f := range families {
		list[i] = metric{name: f.GetName(), kind: strings.ToLower(f.GetType().String()), help: f.GetHelp()}
		for _, l := range f.GetMetric()[0].GetLabel() {
			list[i].labels = append(list[i].labels, code(l.GetName()))
		}
	}
	return list, complete(described, list)
}

var fqName = regexp.MustCompile(`fqName: "(tallyman_[^"]+)"`)

// complete tells which metrics are described and not gathered.
func complete(described prometheus.Collector, list []metric) error {
	ch := make(chan *prometheus.Desc)
	go func() {
		described.Describe(ch)
		close(ch)
	}()
	var errs []error
	for d := range ch {
		m := fqName.FindStringSubmatch(d.String())
		if m != nil && !slices.ContainsFunc(list, func(known metric) bool { return known.name == m[1] }) {
			errs = append(errs, fmt.Errorf("%s has no series: count something of it in docs/reference/metrics.go", m[1]))
		}
	}
	return errors.Join(errs...)
}

// fullQueue is a queue with something in it.
type fullQueue struct{ sizes item.Sizes }

func (q fullQueue) Sizes(context.Context, bool, item.Scope) (item.Sizes, error) { return q.sizes, nil }
