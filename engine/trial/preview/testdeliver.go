package preview

import (
	"slices"
	"time"

	"go.yaml.in/yaml/v3"

	"tallyman/internal/delivery"
	"tallyman/internal/ledger"
	"tallyman/rules"
	"tallyman/rules/strictyaml"
)

// deliver is where a notice goes, for a rule that says more of it than names of sinks; else nil.
func (f *testFile) deliver(targets []ledger.Target) *yaml.Node {
	plain := func(d rules.Deliver) bool { return d == rules.Deliver{Sink: d.Sink} }
	if f.rule.Shadow || !slices.ContainsFunc(f.rule.Deliver, func(d rules.Deliver) bool { return !plain(d) }) {
		return nil
	}
	n := flow()
	n.Kind = yaml.SequenceNode
	for _, t := range targets {
		n.Content = append(n.Content, deliverNode(t))
	}
	return n
}

func deliverNode(t ledger.Target) *yaml.Node {
	s := t.Strategy
	if s == nil || s.Kind == delivery.Immediate {
		return words(t.Sink)
	}
	n := flow()
	put(n, "sink", words(t.Sink))
	put(n, "strategy", words(string(s.Kind)))
	switch {
	case s.Kind == delivery.Timed:
		put(n, "within", plain(strictyaml.FormatDuration(s.Within)))
	case !s.At.IsZero():
		put(n, "at", words(s.At.UTC().Format(time.RFC3339Nano)))
	case s.Kind == delivery.Delayed:
		put(n, "delay", plain(strictyaml.FormatDuration(s.Delay)))
	}
	if s.Retry > 0 {
		put(n, "retry", number(s.Retry))
	}
	if s.Unless != "" {
		put(n, "unless", words(string(s.Unless)))
	}
	return n
}
