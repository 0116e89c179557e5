package metrics

import (
	"maps"
	"slices"

	"github.com/prometheus/client_golang/prometheus"
)

// Push is the state of a push channel on this node.
type Push struct {
	Breaker  string // One of breakers.
	InFlight int    // Deliveries that are being tried.
	HeldBack bool   // The node tries no delivery now.
}

// breakers are the states of a breaker. Each state has a series that is 1 while the breaker is in that state, so that a
// graph shows the changes.
var breakers = []string{"closed", "open", "half_open"}

// Pushes has gauges of push channels. Pushes reads their state at each scrape.
type Pushes struct {
	sinks                       map[string]func() Push
	breaker, inFlight, heldBack *prometheus.Desc
}

// NewPushes makes the gauges of push channels, by the name of the sink.
func NewPushes(sinks map[string]func() Push) *Pushes {
	return &Pushes{
		sinks: maps.Clone(sinks),
		breaker: prometheus.NewDesc(namespace+"_sink_breaker_state", "1 for the present state of a push channel's breaker on this node: closed, open or half_open.",
			[]string{"sink", "state"}, nil),
		inFlight: prometheus.NewDesc(namespace+"_sink_in_flight", "Deliveries that this node is trying now, by push channel.",
			[]string{"sink"}, nil),
		heldBack: prometheus.NewDesc(namespace+"_sink_held_back", "1 while this node tries no delivery, because the breaker is open or the push channel asked for a pause (Retry-After).",
			[]string{"sink"}, nil),
	}
}

// Describe implements prometheus.Collector.
func (p *Pushes) Describe(ch chan<- *prometheus.Desc) {
	ch <- p.breaker
	ch <- p.inFlight
	ch <- p.heldBack
}

// Collect implements prometheus.Collector.
func (p *Pushes) Collect(ch chan<- prometheus.Metric) {
	gauge := func(desc *prometheus.Desc, value float64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, value, labels...)
	}
	for _, name := range slices.Sorted(maps.Keys(p.sinks)) {
		now := p.sinks[name]()
		for _, state := range breakers {
			gauge(p.breaker, oneIf(state == now.Breaker), name, state)
		}
		gauge(p.inFlight, float64(now.InFlight), name)
		gauge(p.heldBack, oneIf(now.HeldBack), name)
	}
}

func oneIf(b bool) float64 {
	if b {
		return 1
	}
	return 0
}
