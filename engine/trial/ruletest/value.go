package ruletest

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"tallyman/rules/problem"
	"tallyman/rules/row"
	"tallyman/rules/strictyaml"
)

// cell is a written value. A text may have a second meaning. People may write a decimal in quotes, such as "-3.50". A
// time in quotes is a text for YAML.
type cell struct {
	node  *strictyaml.Node
	value row.Value // The value as YAML has it.
	other row.Value // The second meaning of a text. NULL means none.
}

// cellFault says why a value is not valid.
type cellFault struct{ message, hint string }

var (
	numeral = regexp.MustCompile(`^-?(0|[1-9][0-9]*)(\.[0-9]+)?$`) // 007 is no number: it may be a name.
	integer = regexp.MustCompile(`^[-+]?(0|[1-9][0-9]*)$`)
)

// read converts a node to a cell.
func read(n *strictyaml.Node) (cell, *cellFault) {
	c := cell{node: n}
	if n.Kind != strictyaml.Scalar {
		text, err := json.Marshal(plain(n))
		if err != nil {
			return c, &cellFault{"this cannot be JSON: " + err.Error(), ""}
		}
		c.value = row.JSONOf(string(text))
		return c, nil
	}
	switch n.Tag {
	case "!!null":
	case "!!bool":
		c.value = row.BoolOf(strings.EqualFold(n.Text, "true"))
	case "!!int":
		i, err := strconv.ParseInt(n.Text, 10, 64)
		if err != nil || !integer.MatchString(n.Text) {
			return c, &cellFault{n.Text + " is no plain whole number", "write it in quotes"}
		}
		c.value = row.IntOf(i)
	case "!!float":
		v, err := row.ParseDecimal(n.Text)
		if err != nil {
			return c, &cellFault{n.Text + " is no plain number", "write it in quotes"}
		}
		c.value = v
	case "!!timestamp":
		v, ok := instant(n.Text)
		if !ok {
			return c, &cellFault{fmt.Sprintf("%q is no time", n.Text), "as 2026-06-01T08:00:00Z"}
		}
		c.value = v
	default:
		c.value = row.TextOf(n.Text)
		if numeral.MatchString(n.Text) {
			c.other, _ = row.ParseDecimal(n.Text) // No error: the text matches numeral.
		} else if v, ok := instant(n.Text); ok {
			c.other = v
		}
	}
	return c, nil
}

// plain converts a node to a JSON value. Numbers keep their digits.
func plain(n *strictyaml.Node) any { return n.Tree(plainScalar) }

func plainScalar(n *strictyaml.Node) any {
	switch n.Tag {
	case "!!null":
		return nil
	case "!!bool":
		return strings.EqualFold(n.Text, "true")
	case "!!int", "!!float":
		return json.Number(n.Text)
	}
	return n.Text
}

// instants are the layouts of a time. A time without an offset is in UTC, like a timestamp without zone in a database.
var instants = []string{time.RFC3339Nano, "2006-01-02 15:04:05.999999999Z07:00", "2006-01-02T15:04:05.999999999", "2006-01-02 15:04:05.999999999"}

// instant parses a time, or a date where the text has no time of day.
func instant(s string) (row.Value, bool) {
	if t, err := time.Parse(time.DateOnly, s); err == nil {
		return row.DateOf(t), true
	}
	for _, layout := range instants {
		if t, err := time.Parse(layout, s); err == nil {
			return row.TimeOf(t), true
		}
	}
	return row.Value{}, false
}

// as converts the cell to a value of a column of that kind.
func (c cell) as(kind row.Kind) (row.Value, *cellFault) {
	have := c.value.Kind()
	if have == row.Null || have == kind || kind == row.Null {
		return c.value, nil
	}
	text := c.value.String()
	switch kind {
	case row.Decimal:
		if have == row.Int || have == row.Text {
			if v, err := row.ParseDecimal(text); err == nil {
				return v, nil
			}
		}
	case row.Int:
		if i, err := strconv.ParseInt(text, 10, 64); err == nil && have == row.Text {
			return row.IntOf(i), nil
		}
	case row.Float:
		if f, err := strconv.ParseFloat(text, 64); err == nil && have != row.Bool {
			return row.FloatOf(f), nil
		}
	case row.Time, row.Date:
		if v, ok := instant(text); ok && (have == row.Text || have == row.Date || have == row.Time) {
			if kind == row.Time {
				return row.TimeOf(v.Time()), nil
			}
			return row.DateOf(v.Time()), nil
		}
	case row.Duration:
		if d, err := strictyaml.ParseDuration(text); err == nil && have == row.Text {
			return row.DurationOf(d), nil
		}
	case row.Bytes:
		if raw, err := hex.DecodeString(text); err == nil && have == row.Text {
			return row.BytesOf(string(raw)), nil
		}
	case row.JSON:
		return row.JSONOf(c.json()), nil
	case row.Text:
		if have == row.Time || have == row.Date {
			return row.TextOf(c.node.Text), nil
		}
		return row.Value{}, &cellFault{fmt.Sprintf("%s is a value of kind %s, the column is text", text, have), fmt.Sprintf("write %q", text)}
	case row.Null, row.Bool:
	}
	return row.Value{}, &cellFault{fmt.Sprintf("%s is a value of kind %s, the column is %s", text, have, kind), kindHints[kind]}
}

// json returns the cell's value for a JSON column. A text that is valid JSON is taken as JSON.
func (c cell) json() string {
	if text := c.node.Text; c.value.Kind() == row.Text && json.Valid([]byte(text)) {
		return text
	}
	text, err := json.Marshal(plain(c.node))
	if err != nil { // Not expected: read has converted the node to JSON before.
		return "null"
	}
	return string(text)
}

var kindHints = map[row.Kind]string{
	row.Bool: "write true or false", row.Int: "write a whole number", row.Float: "write a number", row.Decimal: `write a number, as "-3.50"`,
	row.Time: "as 2026-06-01T08:00:00Z", row.Date: "as 2026-06-01", row.Duration: "as 1h30m", row.Bytes: "write the bytes in hex, as 01ff",
}

// kindOf returns the kind with the name that messages use.
func kindOf(name string) (row.Kind, bool) {
	for k := row.Bool; k <= row.JSON; k++ {
		if k.String() == name {
			return k, true
		}
	}
	return row.Null, false
}

func kindNames() []string {
	var names []string
	for k := row.Bool; k <= row.JSON; k++ {
		names = append(names, k.String())
	}
	return names
}

// reader converts a node to a Test.
type reader struct {
	file     *strictyaml.File
	problems problem.List
}

func (r *reader) fail(n *strictyaml.Node, code, message, hint string) {
	r.problems = append(r.problems, r.file.Problem(n, code, message, hint))
}

func (r *reader) decode(n *strictyaml.Node, into any) {
	r.problems = append(r.problems, r.file.Decode(n, into)...)
}

func (r *reader) test(n *strictyaml.Node) *Test {
	var spec testSpec
	r.decode(n, &spec)
	t := &Test{Name: spec.Name, Rule: spec.Rule, Scope: spec.Scope, Timezone: spec.Timezone, Params: spec.Params, Exact: spec.Exact, Columns: map[string]row.Kind{}, node: n}
	for _, name := range slices.Sorted(maps.Keys(spec.Columns)) {
		kind, ok := kindOf(spec.Columns[name])
		if !ok {
			r.fail(n.Get("columns", name), strictyaml.CodeEnum, fmt.Sprintf("there is no kind %q of column", spec.Columns[name]),
				nearest(spec.Columns[name], kindNames()))
		}
		t.Columns[strings.ToLower(name)] = kind
	}
	if spec.Start != nil {
		t.Start = r.start(spec.Start)
	}
	for _, step := range spec.Steps {
		t.Steps = append(t.Steps, r.step(step))
	}
	r.order(t, n)
	return t
}

// start parses the start of a test. The time must have an offset, because a test must not depend on the timezone of the
// machine.
func (r *reader) start(n *strictyaml.Node) time.Time {
	const hint = "write date, time and offset, as 2026-06-01T08:00:00+08:00"
	if n.Kind != strictyaml.Scalar {
		r.fail(n, CodeStart, "start takes an instant", hint)
		return time.Time{}
	}
	at, err := time.Parse(time.RFC3339, strings.Replace(n.Text, " ", "T", 1))
	if err != nil {
		r.fail(n, CodeStart, fmt.Sprintf("%q is no instant", n.Text), hint)
	}
	return at
}

// order checks the order of the steps, and that at least one step expects something.
func (r *reader) order(t *Test, n *strictyaml.Node) {
	expects := false
	for i, s := range t.Steps {
		expects = expects || s.Expect != nil
		if i > 0 && s.At <= t.Steps[i-1].At && s.node.Get("at") != nil {
			r.fail(s.node.Get("at"), CodeOrder, fmt.Sprintf("the step before is at %s already", short(t.Steps[i-1].At)), "steps go forward in time")
		}
	}
	steps := n.Get("steps")
	if !expects && steps != nil && steps.Kind == strictyaml.Sequence {
		r.fail(n.Field("steps").Key, CodeExpect, "no step expects anything, so the test cannot fail", "add expect to a step")
	}
}

func (r *reader) step(n *strictyaml.Node) *Step {
	var spec stepSpec
	r.decode(n, &spec)
	s := &Step{At: spec.At, Fault: spec.Error, node: n}
	if n.Kind != strictyaml.Mapping {
		return s
	}
	given := 0
	for _, name := range []string{"rows", "tables", "error"} {
		if n.Field(name) != nil {
			given++
		}
	}
	switch field := n.Field("error"); {
	case given != 1:
		r.fail(n, CodeInput, fmt.Sprintf("the step gives %d of rows, tables and error", given), "give one: rows: [] is a probe that finds nothing")
	case field != nil && field.Value.Kind == strictyaml.Scalar && spec.Error == "" && field.Value.Tag == "!!str":
		r.fail(field.Value, CodeInput, "error is empty", "timeout, unreachable, or the error text of the database")
	}
	for _, item := range spec.Rows {
		s.Rows = append(s.Rows, r.cells("rows", item))
	}
	if spec.Tables != nil {
		s.Tables = []tableRows{}
	}
	for _, name := range slices.Sorted(maps.Keys(spec.Tables)) {
		t := tableRows{name: name}
		for _, item := range spec.Tables[name] {
			t.rows = append(t.rows, r.cells(name, item))
		}
		s.Tables = append(s.Tables, t)
	}
	if spec.Expect != nil {
		s.Expect = r.expect(spec.Expect)
	}
	return s
}

func (r *reader) expect(n *strictyaml.Node) *Expect {
	var spec expectSpec
	r.decode(n, &spec)
	e := &Expect{
		Pending: spec.Pending, Firing: spec.Firing, Rows: spec.Rows, Matched: spec.Matched, Errored: spec.Errored,
		Health: spec.Health, CountNotices: spec.Notices != nil, node: n,
	}
	for _, item := range spec.Notices {
		r.decode(item, &noticeSpec{})
		e.Notices = append(e.Notices, noticeExpect{item})
	}
	if n.Kind == strictyaml.Mapping && len(n.Fields) == 0 {
		r.fail(n, CodeExpect, "nothing is expected", "known fields: pending, firing, rows, matched, errored, health, notices")
	}
	return e
}

// cells reads a row. cells converts names of columns to lower case, as for a probe.
func (r *reader) cells(name string, n *strictyaml.Node) cells {
	nodes := map[string]*strictyaml.Node{}
	r.decode(n, &nodes)
	c := cells{node: n, values: make(map[string]cell, len(nodes))}
	if n.Kind != strictyaml.Mapping {
		return c
	}
	for _, f := range n.Fields {
		column := strings.ToLower(f.Name)
		if _, twice := c.values[column]; twice {
			r.fail(f.Key, strictyaml.CodeDuplicate, fmt.Sprintf("%s has the column %q twice; upper and lower case count as equal", name, column), "")
			continue
		}
		v, fault := read(f.Value)
		if fault != nil {
			r.fail(f.Value, CodeValue, fmt.Sprintf("%s: %s", column, fault.message), fault.hint)
			continue
		}
		c.values[column] = v
	}
	return c
}

// unique refuses a name that another test of the file has, because the output and --run could not distinguish them.
func (r *reader) unique(name string, n *strictyaml.Node, names map[string]*strictyaml.Node) {
	if name == "" {
		return
	}
	if first := names[name]; first != nil {
		r.fail(n.Get("name"), CodeTwice, fmt.Sprintf("another test is called %q", name), fmt.Sprintf("it stands in line %d", first.Line))
		return
	}
	names[name] = n
}

// nearest suggests a similar name, or lists the known names.
func nearest(name string, known []string) string {
	if hint := problem.DidYouMean(name, known); hint != "" {
		return hint
	}
	return "one of " + strings.Join(known, ", ")
}

// short formats a duration as in a test file.
func short(d time.Duration) string { return strictyaml.FormatDuration(d) }
