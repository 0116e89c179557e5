package ruletest

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"tallyman/rules/problem"
	"tallyman/rules/row"
	"tallyman/rules/strictyaml"
)

// reader makes one Test of what is written.
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
	t := &Test{Name: spec.Name, Rule: spec.Rule, Scope: spec.Scope, Exact: spec.Exact, Columns: map[string]row.Kind{}, node: n}
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

// start needs an offset: a test must not depend on where it runs.
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

// order checks the steps beside each other.
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
		r.fail(field.Value, CodeInput, "error says nothing", "timeout, unreachable, or the words of the database")
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

// cells reads a row. Columns fold as those of a probe do.
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
			r.fail(f.Key, strictyaml.CodeDuplicate, fmt.Sprintf("%s has the column %q twice, upper and lower case being the same", name, column), "")
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

// unique refuses a name that another test of the file has: output and --run could not tell them apart.
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

// nearest hints at what was meant, or says what there is.
func nearest(name string, known []string) string {
	if hint := problem.DidYouMean(name, known); hint != "" {
		return hint
	}
	return "one of " + strings.Join(known, ", ")
}

// short writes a duration as a test file has it.
func short(d time.Duration) string { return strictyaml.FormatDuration(d) }
