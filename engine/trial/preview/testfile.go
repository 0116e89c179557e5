package preview

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"tallyman/internal/delivery"
	"tallyman/internal/ledger"
	"tallyman/internal/notice"
	"tallyman/internal/text"
	"tallyman/rules"
	"tallyman/rules/deliver"
	"tallyman/rules/row"
	"tallyman/rules/strictyaml"
)

// testFile writes a rule test; docs/reference/rule-file.md describes the format.
type testFile struct {
	rule    *rules.Rule
	rules   string // The path of the rule file.
	types   string // The path of the type catalogue.
	source  string
	due     time.Time
	columns []row.Column
	rows    []*row.Row
	steps   []step
	mask    []string
}

func (f *testFile) yaml() ([]byte, error) {
	test := block()
	put(test, "name", words("recorded at "+f.due.UTC().Format(time.RFC3339)))
	put(test, "rule", words(f.rule.ID))
	if f.rule.Scope != "" {
		put(test, "scope", words(f.rule.Scope))
	}
	if f.rule.Scopes != nil { // A query lists the scopes, so the test must have what the query returned for this one.
		put(test, "timezone", words(f.rule.Schedule.Timezone))
		if len(f.rule.Probe.Params) > 0 {
			var params yaml.Node
			if err := params.Encode(f.rule.Probe.Params); err != nil {
				return nil, fmt.Errorf("write the test: %w", err)
			}
			put(test, "params", &params)
		}
	}
	put(test, "start", words(f.start()))
	put(test, "columns", f.kinds())
	steps := list()
	anchor := f.recordedRows()
	for i, s := range f.steps {
		steps.Content = append(steps.Content, f.step(s, i, anchor))
	}
	put(test, "steps", steps)
	tests := list()
	tests.Content = []*yaml.Node{test}
	root := block()
	root.HeadComment = f.comment()
	put(root, "rules", words(f.rules))
	put(root, "types", words(f.types))
	put(root, "tests", tests)

	var b bytes.Buffer
	enc := yaml.NewEncoder(&b)
	enc.SetIndent(2)
	if err := enc.Encode(root); err != nil {
		return nil, fmt.Errorf("write the test: %w", err)
	}
	if err := enc.Close(); err != nil {
		return nil, fmt.Errorf("write the test: %w", err)
	}
	return text.EscapeJSON(b.Bytes()), nil // Texts that need escapes stand in double quotes.
}

func (f *testFile) comment() string {
	said := "# Recorded with tallyman rules preview from the source " + f.source + "."
	if len(f.mask) > 0 {
		said += " Masked: " + strings.Join(f.mask, ", ") + "."
	}
	return said
}

// start returns the due time in the rule's timezone.
func (f *testFile) start() string {
	zone, err := time.LoadLocation(f.rule.Schedule.Timezone)
	if err != nil { // Not expected: the rule was loaded with this timezone.
		zone = time.UTC
	}
	return f.due.In(zone).Format(time.RFC3339)
}

// kinds returns the kinds of the columns, so that the test reads each value with the kind that the probe gave.
func (f *testFile) kinds() *yaml.Node {
	n := flow()
	for _, c := range f.columns {
		if c.Kind != row.Null {
			put(n, c.Name, words(c.Kind.String()))
		}
	}
	return n
}

// recordedRows returns the rows, with a YAML anchor where more than one step uses them.
func (f *testFile) recordedRows() *yaml.Node {
	n := list()
	for _, r := range f.rows {
		cells := flow()
		for i, v := range r.Values {
			put(cells, f.columns[i].Name, cellNode(v))
		}
		n.Content = append(n.Content, cells)
	}
	if len(f.rows) == 0 {
		n.Style = yaml.FlowStyle
	} else if len(f.steps) > 1 {
		n.Anchor = "recorded"
	}
	return n
}

func (f *testFile) step(s step, i int, rows *yaml.Node) *yaml.Node {
	n := block()
	put(n, "at", plain(strictyaml.FormatDuration(s.at)))
	if i > 0 && rows.Anchor != "" {
		rows = &yaml.Node{Kind: yaml.AliasNode, Value: rows.Anchor, Alias: rows}
	}
	put(n, "rows", rows)
	expect, run := block(), &s.run.Run
	if run.Outcome == ledger.OutcomeDegraded {
		put(expect, "health", words("degraded"))
	}
	put(expect, "matched", number(run.Matched))
	if run.Errored > 0 {
		put(expect, "errored", number(run.Errored))
	}
	if f.rule.Mode == rules.ModeState {
		put(expect, "pending", number(run.Pending))
		put(expect, "firing", number(run.Firing))
	}
	notices := list()
	for _, c := range s.run.Commits {
		for _, made := range c.Notices {
			n := noticeNode(made.Notice)
			if deliver := f.deliver(made.Sinks); deliver != nil {
				put(n, "deliver", deliver)
			}
			notices.Content = append(notices.Content, n)
		}
	}
	if len(notices.Content) == 0 {
		notices.Style = yaml.FlowStyle
	}
	put(expect, "notices", notices)
	put(n, "expect", expect)
	return n
}

func noticeNode(n *notice.Notice) *yaml.Node {
	out := block()
	put(out, "status", words(string(n.Status)))
	put(out, "type", words(n.Type))
	put(out, "warehouse", words(n.Warehouse))
	put(out, "key", words(n.Key))
	put(out, "priority", number(n.Priority))
	put(out, "modal", words(n.Modal))
	put(out, "title", words(n.Title))
	if n.Body != "" {
		put(out, "body", words(n.Body))
	}
	data := flow()
	for _, f := range n.Data {
		put(data, f.Name, dataNode(f.Value))
	}
	if len(n.Data) > 0 {
		put(out, "data", data)
	}
	if n.Count != 1 {
		put(out, "count", number(n.Count))
	}
	return out
}

func dataNode(v any) *yaml.Node {
	switch v := v.(type) {
	case nil:
		return plain("null")
	case string:
		return words(v)
	default: // An int64 or a bool.
		return plain(fmt.Sprint(v))
	}
}

// cellNode returns a value in the form of a test file. The kind of its column says how it is read.
func cellNode(v row.Value) *yaml.Node {
	switch v.Kind() {
	case row.Null:
		return plain("null")
	case row.Int, row.Bool:
		return plain(v.String())
	case row.Duration:
		return words(strictyaml.FormatDuration(v.Duration()))
	default:
		return words(v.String())
	}
}

func block() *yaml.Node { return &yaml.Node{Kind: yaml.MappingNode} }

func flow() *yaml.Node { return &yaml.Node{Kind: yaml.MappingNode, Style: yaml.FlowStyle} }

func list() *yaml.Node { return &yaml.Node{Kind: yaml.SequenceNode} }

func put(m *yaml.Node, name string, value *yaml.Node) {
	m.Content = append(m.Content, words(name), value)
}

func number(n int) *yaml.Node { return plain(strconv.Itoa(n)) }

// plain returns a scalar without quotes.
func plain(text string) *yaml.Node { return &yaml.Node{Kind: yaml.ScalarNode, Value: text} }

// bare matches texts that every YAML reader takes for strings, except for the reserved ones.
var (
	bare     = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_./-]*$`)
	reserved = []string{"true", "false", "yes", "no", "on", "off", "y", "n", "null", "nan", "inf"}
)

// words returns a string, in quotes where a YAML reader could take it for something else.
func words(text string) *yaml.Node {
	n := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: text}
	if !bare.MatchString(text) || slices.Contains(reserved, strings.ToLower(text)) {
		n.Style = yaml.DoubleQuotedStyle
	}
	return n
}

// deliver returns where a notice goes. deliver is nil for a rule whose deliver has only names of sinks.
func (f *testFile) deliver(targets []ledger.Target) *yaml.Node {
	plain := func(d deliver.Entry) bool { return d == deliver.Entry{Sink: d.Sink} }
	if f.rule.Shadow || !slices.ContainsFunc(f.rule.Deliver, func(d deliver.Entry) bool { return !plain(d) }) {
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
	if s.Until != "" {
		put(n, "until", words(string(s.Until)))
	}
	return n
}
