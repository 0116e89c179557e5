package metrics

import (
	"context"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Node has gauges of the node's state. Node reads the state at each scrape.
type Node struct {
	ask      func(ctx context.Context) NodeState
	ready    *prometheus.Desc
	blocked  *prometheus.Desc
	unpruned *prometheus.Desc
	waiting  *prometheus.Desc
	oldest   *prometheus.Desc
	restore  *prometheus.Desc
	withheld *prometheus.Desc
	term     *prometheus.Desc
	ahead    *prometheus.Desc
	fails    *prometheus.Desc
	holds    *prometheus.Desc
	listed   *prometheus.Desc

	mu    sync.Mutex
	asked time.Time
	last  NodeState
}

// NodeState is the state of a node.
type NodeState struct {
	Ready   bool // As in /readyz.
	Blocked bool // The ledger refuses each commit.
	// Unpruned says that the node could not remove old data from the ledger at its last attempt.
	Unpruned bool
	Waiting  map[string]int64         // Pending deliveries by sink; nil = the ledger has not answered.
	Clock    *Clock                   // nil = the node has its own clock.
	Oldest   map[string]time.Duration // Age of the oldest pending delivery by sink; nil as in Waiting.
	// Restored is when a node found that the ledger had been restored; zero = never.
	Restored time.Time
	// Withheld has the numbers of items that wait for an operator since the restore, by queue; nil as in Waiting.
	Withheld map[string]int64
	// Lists are the lists that queries of sources keep; nil = the ledger has not answered.
	Lists []List
}

// List is the state of a list that a query keeps: the subscriptions of a source, or the scopes of a rule.
type List struct {
	Kind, Name   string
	Fails, Waits bool      // The source gives no list; a list waits for an operator.
	Answered     time.Time // Zero = the source has never given a list.
}

// Clock is the state of the ledger's clock.
type Clock struct {
	Term        int64
	Unconfirmed time.Duration // How far the clock went ahead without a confirmation.
}

const (
	nodeTimeout = 3 * time.Second
	nodeFresh   = 2 * time.Second // Several scrapers share one reading.
)

// NewNode makes the gauges. ask must return when its context ends.
func NewNode(ask func(ctx context.Context) NodeState) *Node {
	return &Node{
		ask:      ask,
		ready:    prometheus.NewDesc(namespace+"_ready", "1 while the node can reach everything that it needs, as in /readyz.", nil, nil),
		blocked:  prometheus.NewDesc(namespace+"_commits_blocked", "1 while the ledger refuses each commit of this node.", nil, nil),
		unpruned: prometheus.NewDesc(namespace+"_retention_failing", "1 while old rows stay in the ledger, because the last attempt of this node to remove them failed.", nil, nil),
		waiting: prometheus.NewDesc(namespace+"_deliveries_pending", "Deliveries that wait, by sink. Of the whole cluster.",
			[]string{"sink"}, nil),
		oldest: prometheus.NewDesc(namespace+"_deliveries_oldest_seconds", "Age of the oldest delivery that waits and could go now, by sink; 0 = none waits. Of the whole cluster.",
			[]string{"sink"}, nil),
		restore: prometheus.NewDesc(namespace+"_ledger_restored_timestamp_seconds", "When a node found that the ledger had been restored from a copy; 0 = never. Of the whole cluster.", nil, nil),
		withheld: prometheus.NewDesc(namespace+"_queue_items_withheld", "Items that have ended since the backup from which the ledger was restored, and wait for an operator, by queue; of the whole cluster.",
			[]string{"queue"}, nil),
		term: prometheus.NewDesc(namespace+"_clock_term", "Number of times the clock of the ledger went back by more than 5 s.", nil, nil),
		ahead: prometheus.NewDesc(namespace+"_clock_unconfirmed_seconds",
			"By how much the clock of the ledger went ahead while nodes ran, until an operator confirms it; 0 = the clock needs no confirmation.", nil, nil),
		fails:  prometheus.NewDesc(namespace+"_list_failing", "1 while the query of a source gives no good list, by list (subscriptions or scopes) and by name (of the source or of the rule). Of the whole cluster.", []string{"list", "name"}, nil),
		holds:  prometheus.NewDesc(namespace+"_list_waiting", "1 while a list waits for an operator because the list is empty or removes more than half, by list and name. Of the whole cluster.", []string{"list", "name"}, nil),
		listed: prometheus.NewDesc(namespace+"_list_answered_timestamp_seconds", "When the query last gave a list, by list and name; 0 = never. Of the whole cluster.", []string{"list", "name"}, nil),
	}
}

// Describe implements prometheus.Collector.
func (n *Node) Describe(ch chan<- *prometheus.Desc) {
	ch <- n.ready
	ch <- n.blocked
	ch <- n.unpruned
	ch <- n.waiting
	ch <- n.oldest
	ch <- n.restore
	ch <- n.withheld
	ch <- n.term
	ch <- n.ahead
	ch <- n.fails
	ch <- n.holds
	ch <- n.listed
}

// Collect implements prometheus.Collector.
func (n *Node) Collect(ch chan<- prometheus.Metric) {
	now := n.state()
	ch <- prometheus.MustNewConstMetric(n.ready, prometheus.GaugeValue, oneIf(now.Ready))
	ch <- prometheus.MustNewConstMetric(n.blocked, prometheus.GaugeValue, oneIf(now.Blocked))
	ch <- prometheus.MustNewConstMetric(n.unpruned, prometheus.GaugeValue, oneIf(now.Unpruned))
	restored := 0.0
	if !now.Restored.IsZero() {
		restored = float64(now.Restored.UnixMicro()) / 1e6
	}
	ch <- prometheus.MustNewConstMetric(n.restore, prometheus.GaugeValue, restored)
	if now.Clock != nil {
		ch <- prometheus.MustNewConstMetric(n.term, prometheus.GaugeValue, float64(now.Clock.Term))
		ch <- prometheus.MustNewConstMetric(n.ahead, prometheus.GaugeValue, now.Clock.Unconfirmed.Seconds())
	}
	for sink, count := range now.Waiting {
		ch <- prometheus.MustNewConstMetric(n.waiting, prometheus.GaugeValue, float64(count), sink)
	}
	for queue, count := range now.Withheld {
		ch <- prometheus.MustNewConstMetric(n.withheld, prometheus.GaugeValue, float64(count), queue)
	}
	for _, o := range now.Lists {
		ch <- prometheus.MustNewConstMetric(n.fails, prometheus.GaugeValue, oneIf(o.Fails), o.Kind, o.Name)
		ch <- prometheus.MustNewConstMetric(n.holds, prometheus.GaugeValue, oneIf(o.Waits), o.Kind, o.Name)
		listed := 0.0
		if !o.Answered.IsZero() {
			listed = float64(o.Answered.UnixMicro()) / 1e6
		}
		ch <- prometheus.MustNewConstMetric(n.listed, prometheus.GaugeValue, listed, o.Kind, o.Name)
	}
	for sink, age := range now.Oldest {
		ch <- prometheus.MustNewConstMetric(n.oldest, prometheus.GaugeValue, age.Seconds(), sink)
	}
}

func (n *Node) state() NodeState {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.asked.IsZero() || time.Since(n.asked) >= nodeFresh {
		ctx, cancel := context.WithTimeout(context.Background(), nodeTimeout)
		defer cancel()
		n.last, n.asked = n.ask(ctx), time.Now()
	}
	return n.last
}
