package ruletest

import (
	"encoding/json"
	"strconv"
	"time"

	"tallyman/internal/delivery"
	"tallyman/internal/ledger"
	"tallyman/rules/strictyaml"
)

// deliverSpec is what a test may say of one sink that a notice goes to; the name alone will do.
type deliverSpec struct {
	Sink     string           `yaml:"sink,required"`
	Strategy string           `yaml:"strategy" enum:"immediate,delayed,important,timed"`
	Within   time.Duration    `yaml:"within"`
	Delay    time.Duration    `yaml:"delay"`
	At       *strictyaml.Node `yaml:"at"`
	Retry    int              `yaml:"retry" min:"0"`
	Unless   string           `yaml:"unless" enum:"read,acked,resolved"`
}

// deliverList is decoded for its faults only.
type deliverList struct{}

// DecodeYAML implements strictyaml.Decodable.
func (*deliverList) DecodeYAML(d *strictyaml.Decoder, name string, n *strictyaml.Node) {
	var list []*strictyaml.Node
	d.Value(name, n, &list)
	for _, item := range list {
		if item.Kind == strictyaml.Scalar {
			d.Text(name, item)
			continue
		}
		d.Value(name, item, &deliverSpec{})
	}
}

// span is a duration of an outcome, which a test may write as it likes: 90s is 1m30s.
type span time.Duration

// deliverOf is where a notice goes and how, as a test sees it.
func deliverOf(targets []ledger.Target) []any {
	list := make([]any, len(targets))
	for i, t := range targets {
		entry := map[string]any{"sink": t.Sink}
		list[i] = entry
		s := t.Strategy
		if s == nil { // a shadow inbox
			continue
		}
		entry["strategy"] = string(s.Kind)
		switch {
		case s.Kind == delivery.Timed:
			entry["within"] = span(s.Within)
		case !s.At.IsZero():
			entry["at"] = s.At.UTC().Format(time.RFC3339Nano)
		case s.Kind == delivery.Delayed:
			entry["delay"] = span(s.Delay)
		}
		if s.Retry > 0 {
			entry["retry"] = json.Number(strconv.Itoa(s.Retry))
		}
		if s.Unless != "" {
			entry["unless"] = string(s.Unless)
		}
	}
	return list
}

// named puts the sink's name in the place of each entry for which a test writes no more. Where the test has more or fewer entries, the
// name stands for those of which there is no more to say.
func named(want *strictyaml.Node, got any) any {
	entries, ok := got.([]any)
	if !ok || want.Kind != strictyaml.Sequence {
		return got
	}
	list := make([]any, len(entries))
	for i, e := range entries {
		entry, isEntry := e.(map[string]any)
		short := isEntry && entry["strategy"] == string(delivery.Immediate)
		if len(want.Items) == len(entries) {
			short = isEntry && want.Items[i].Kind == strictyaml.Scalar
		}
		if list[i] = e; short {
			list[i] = entry["sink"]
		}
	}
	return list
}
