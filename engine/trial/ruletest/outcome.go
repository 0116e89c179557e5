package ruletest

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"tallyman/engine/trial"
	"tallyman/internal/delivery"
	"tallyman/internal/ledger"
	"tallyman/rules"
	"tallyman/rules/strictyaml"
)

// The health of a run.
const (
	healthOK       = "ok"
	healthDegraded = "degraded" // A row could not be judged, or a key was repeated.
	healthError    = "error"    // The run failed.
	healthNoData   = "no_data"  // The probe returned no row, and the rule's no_data is not ok.
)

// outcome is the result of a step.
type outcome struct {
	run     ledger.Run
	health  string
	notices []map[string]any // As in JSON, with the fields sinks and deliver.
}

func outcomeOf(rule *rules.Rule, run *trial.Run) (*outcome, error) {
	o := &outcome{run: run.Run, health: healthOK}
	switch {
	case run.Run.Outcome == ledger.OutcomeFailed:
		o.health = healthError
	case run.Run.Outcome == ledger.OutcomeDegraded:
		o.health = healthDegraded
	case run.Run.Rows == 0 && rule.Mode == rules.ModeState && rule.NoData != rules.PolicyOK:
		o.health = healthNoData
	}
	for _, c := range run.Commits {
		for _, n := range c.Notices {
			text, err := json.Marshal(n.Notice)
			if err != nil {
				return nil, fmt.Errorf("ruletest: a notice as JSON: %w", err)
			}
			fields := map[string]any{}
			d := json.NewDecoder(bytes.NewReader(text))
			d.UseNumber()
			if err := d.Decode(&fields); err != nil {
				return nil, fmt.Errorf("ruletest: a notice as JSON: %w", err)
			}
			sinks := make([]any, len(n.Sinks))
			for i, target := range n.Sinks {
				sinks[i] = target.Sink
			}
			fields["sinks"], fields["deliver"] = sinks, deliverOf(n.Sinks)
			o.notices = append(o.notices, fields)
		}
	}
	return o, nil
}

// context returns lines about the run that explain the outcome.
func (o *outcome) context() []string {
	var lines []string
	if o.run.Error != "" {
		lines = append(lines, "  the run failed: "+o.run.Error)
	}
	for _, s := range o.run.Samples {
		lines = append(lines, "  degraded: "+s)
	}
	return lines
}

// deliverSpec is an entry of deliver in a test. The name of the sink alone is enough.
type deliverSpec struct {
	Sink     string           `yaml:"sink,required"`
	Strategy string           `yaml:"strategy" enum:"immediate,delayed,important,timed"`
	Within   time.Duration    `yaml:"within"`
	Delay    time.Duration    `yaml:"delay"`
	At       *strictyaml.Node `yaml:"at"`
	Retry    int              `yaml:"retry" min:"0"`
	Unless   string           `yaml:"unless" enum:"read,acked,resolved"`
	Until    string           `yaml:"until" enum:"sent"`
}

// deliverList is decoded only to find faults.
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

// span is a duration in an outcome. A test may write it in any form: 90s equals 1m30s.
type span time.Duration

// deliverOf returns the entries of deliver for a notice's targets.
func deliverOf(targets []ledger.Target) []any {
	list := make([]any, len(targets))
	for i, t := range targets {
		entry := map[string]any{"sink": t.Sink}
		list[i] = entry
		s := t.Strategy
		if s == nil { // The shadow inbox has no strategy.
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
		if s.Until != "" {
			entry["until"] = string(s.Until)
		}
	}
	return list
}

// named replaces entries of got, the field deliver of a notice, with the names of their sinks. named does so for each
// entry for which the test writes only a name. Where the test has more or fewer entries than got, named does so for
// each entry with strategy immediate.
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

// fieldOrder is the order in which a notice's fields are shown. Other fields follow, sorted by name.
var fieldOrder = []string{
	"status", "type", "typeId", "warehouse", "priority", "modal", "key", "title", "body", "data", "labels", "count", "sinks", "deliver",
	"sink", "strategy", "delay", "at", "within", "retry", "unless", // The fields of an entry of deliver.
}

func byField(a, b string) int {
	place := func(name string) int {
		if i := slices.Index(fieldOrder, name); i >= 0 {
			return i
		}
		return len(fieldOrder)
	}
	return cmp.Or(cmp.Compare(place(a), place(b)), cmp.Compare(a, b))
}

// bare matches texts that YAML reads as strings without quotes, except for the texts in words.
var (
	bare  = regexp.MustCompile(`^[\pL_/][\pL\pN_ ./()+-]*$`)
	words = []string{"true", "false", "null", "yes", "no", "on", "off", "y", "n"}
)

// flow formats a value as YAML in one line, so that an author can copy it into the test.
func flow(v any) string {
	var b strings.Builder
	writeFlow(&b, v)
	return b.String()
}

func writeFlow(b *strings.Builder, v any) {
	switch v := v.(type) {
	case map[string]any:
		b.WriteByte('{')
		for i, name := range slices.SortedFunc(maps.Keys(v), byField) {
			if i > 0 {
				b.WriteString(", ")
			}
			b.WriteString(name + ": ")
			writeFlow(b, v[name])
		}
		b.WriteByte('}')
	case []any:
		b.WriteByte('[')
		for i, item := range v {
			if i > 0 {
				b.WriteString(", ")
			}
			writeFlow(b, item)
		}
		b.WriteByte(']')
	case span:
		b.WriteString(short(time.Duration(v)))
	case string:
		if bare.MatchString(v) && !strings.HasSuffix(v, " ") && !slices.Contains(words, strings.ToLower(v)) {
			b.WriteString(v)
			return
		}
		if !strings.ContainsAny(v, "'\n\r\t") && strings.Contains(v, `"`) {
			b.WriteString("'" + v + "'")
			return
		}
		writeJSON(b, v)
	default:
		writeJSON(b, v)
	}
}

func writeJSON(b *strings.Builder, v any) {
	var text bytes.Buffer
	e := json.NewEncoder(&text)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		b.WriteString("?") // Not expected: the value comes from JSON or YAML.
		return
	}
	b.WriteString(strings.TrimSpace(text.String()))
}
