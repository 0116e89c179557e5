package metrics

import (
	"context"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Node is how the node stands, read when it is scraped.
type Node struct {
	ask     func(ctx context.Context) NodeState
	ready   *prometheus.Desc
	waiting *prometheus.Desc

	mu    sync.Mutex
	asked time.Time
	last  NodeState
}

// NodeState is what a node says of itself.
type NodeState struct {
	Ready   bool             // as /readyz has it
	Waiting map[string]int64 // deliveries that are pending, by sink; nil = the ledger has not said
}

const (
	nodeTimeout = 3 * time.Second
	nodeFresh   = 2 * time.Second // so that many who scrape ask no more often than one
)

// NewNode makes the gauges. ask ends with its context.
func NewNode(ask func(ctx context.Context) NodeState) *Node {
	return &Node{
		ask:   ask,
		ready: prometheus.NewDesc(namespace+"_ready", "1 while everything that the node needs is in reach, as /readyz says.", nil, nil),
		waiting: prometheus.NewDesc(namespace+"_deliveries_pending", "Deliveries that wait, by sink; of the whole cluster.",
			[]string{"sink"}, nil),
	}
}

// Describe names the gauges.
func (n *Node) Describe(ch chan<- *prometheus.Desc) {
	ch <- n.ready
	ch <- n.waiting
}

// Collect asks the node.
func (n *Node) Collect(ch chan<- prometheus.Metric) {
	now := n.state()
	ch <- prometheus.MustNewConstMetric(n.ready, prometheus.GaugeValue, oneIf(now.Ready))
	for sink, count := range now.Waiting {
		ch <- prometheus.MustNewConstMetric(n.waiting, prometheus.GaugeValue, float64(count), sink)
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
