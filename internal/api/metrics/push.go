package metrics

import (
	"maps"
	"slices"

	"github.com/prometheus/client_golang/prometheus"
)

// Push is how a push channel does on this node.
type Push struct {
	Breaker  string // one of breakers
	InFlight int    // deliveries that are being tried
	HeldBack bool   // nothing is tried now
}

// breakers are the states of a breaker. Each has a series, which is 1 while it is in force, so that a graph shows when it changed.
var breakers = []string{"closed", "open", "half_open"}

// Pushes are gauges of push channels, read when they are scraped.
type Pushes struct {
	sinks                       map[string]func() Push
	breaker, inFlight, heldBack *prometheus.Desc
}

// NewPushes makes the gauges of push channels by the names of their sinks.
func NewPushes(sinks map[string]func() Push) *Pushes {
	return &Pushes{
		sinks: maps.Clone(sinks),
		breaker: prometheus.NewDesc(namespace+"_sink_breaker_state", "1 for the state that the breaker of a push channel is in on this node: closed, open or half_open.",
			[]string{"sink", "state"}, nil),
		inFlight: prometheus.NewDesc(namespace+"_sink_in_flight", "Deliveries that this node is trying now, by push channel.",
			[]string{"sink"}, nil),
		heldBack: prometheus.NewDesc(namespace+"_sink_held_back", "1 while this node tries nothing, because the breaker is open or the push channel has asked for time (Retry-After).",
			[]string{"sink"}, nil),
	}
}

// Describe names the gauges.
func (p *Pushes) Describe(ch chan<- *prometheus.Desc) {
	ch <- p.breaker
	ch <- p.inFlight
	ch <- p.heldBack
}

// Collect asks the push channels.
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
