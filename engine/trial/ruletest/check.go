package ruletest

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"tallyman/rules"
	"tallyman/rules/probe"
	"tallyman/rules/problem"
	"tallyman/rules/strictyaml"
)

// check finds what is wrong with the tests beside the rules that they name. Those with a problem are not run.
func (r *runner) check(s *suite) {
	fail := func(t *Test, p problem.Problem) {
		s.bad[t] = true
		r.report.Problems = append(r.report.Problems, p)
	}
	for _, t := range s.Tests {
		if p, bad := s.unknown(t); bad {
			fail(t, p)
		}
		if p, bad := s.uneven(t); bad {
			fail(t, p)
		}
		for _, p := range s.unread(t) {
			fail(t, p)
		}
	}
	var wrong problem.List
	s.tables = tablesOf(s.File, func(at cells, message, hint string) {
		wrong = append(wrong, s.yaml.Problem(at.node, CodeValue, message, hint))
	})
	if len(wrong) > 0 { // the tables have one shape in all tests
		r.report.Problems = append(r.report.Problems, wrong...)
		for _, t := range s.Tests {
			if t.queries() {
				s.bad[t] = true
			}
		}
	}
}

// unknown finds a rule or scope that is not there. A rule that has problems itself is left to those.
func (s *suite) unknown(t *Test) (problem.Problem, bool) {
	var ids, scopes []string
	for _, rule := range s.set.Rules {
		ids = append(ids, rule.ID)
		if rule.ID == t.Rule {
			scopes = append(scopes, rule.Scope)
		}
	}
	broken := slices.ContainsFunc(s.set.Problems, func(p problem.Problem) bool { return p.Rule == "" || p.Rule == t.Rule })
	switch {
	case slices.Contains(scopes, t.Scope):
		return problem.Problem{}, false
	case len(scopes) == 0 && broken:
		return s.yaml.Problem(t.node.Get("rule"), CodeUnknownRule, fmt.Sprintf("the rule %s has problems itself", t.Rule), "they are listed with its file"), true
	case len(scopes) == 0:
		hint := nearest(t.Rule, slices.Compact(ids))
		if len(ids) == 0 {
			hint = "there is no rule in " + strings.Join(s.Rules, ", ")
		}
		return s.yaml.Problem(t.node.Get("rule"), CodeUnknownRule, fmt.Sprintf("there is no rule %q", t.Rule), hint), true
	case t.Scope == "":
		return s.yaml.Problem(t.node, CodeUnknownScope, fmt.Sprintf("%s runs in scopes, and the test names none", t.Rule), "scope: "+strings.Join(quoted(scopes), " or ")), true
	case len(scopes) == 1 && scopes[0] == "":
		return s.yaml.Problem(t.node.Get("scope"), CodeUnknownScope, fmt.Sprintf("%s has no scopes", t.Rule), "remove scope"), true
	}
	return s.yaml.Problem(t.node.Get("scope"), CodeUnknownScope, fmt.Sprintf("%s has no scope %q", t.Rule, t.Scope), nearest(t.Scope, scopes)), true
}

func quoted(names []string) []string {
	list := make([]string, len(names))
	for i, n := range names {
		list[i] = fmt.Sprintf("%q", n)
	}
	return list
}

// uneven finds a row whose columns are not those of the test's first: a probe returns all its columns, and a typing error in one would
// otherwise be a NULL in the other.
func (s *suite) uneven(t *Test) (problem.Problem, bool) {
	rows := t.rows()
	for _, r := range rows {
		for _, name := range rows[0].columns() {
			if _, ok := r.values[name]; !ok {
				return s.yaml.Problem(r.node, CodeRow, fmt.Sprintf("the row has no %s, which the first row of the test has", name),
					fmt.Sprintf("a probe returns all its columns: write %s: null", name)), true
			}
		}
		for _, name := range r.columns() {
			if _, ok := rows[0].values[name]; !ok {
				return s.yaml.Problem(r.key(name), CodeRow, fmt.Sprintf("the first row of the test has no %s", name),
					nearest(name, rows[0].columns())), true
			}
		}
	}
	return problem.Problem{}, false
}

// unread finds tables that the probe does not name: with a typing error in a name the probe would read an empty table.
func (s *suite) unread(t *Test) (found problem.List) {
	rule := s.find(t)
	if rule == nil {
		return nil
	}
	var names []string
	tokens, _ := probe.Lex(rule.Probe.SQL)
	for _, token := range tokens {
		if name := token.Name(); name != "" {
			names = append(names, strings.ToLower(name))
		}
	}
	for _, step := range t.Steps {
		for _, table := range step.Tables {
			if !slices.Contains(names, strings.ToLower(strings.Trim(table.name, `"`))) {
				key := step.node.Get("tables").Field(table.name).Key
				found = append(found, s.yaml.Problem(key, CodeUnknownTable, fmt.Sprintf("the probe of %s reads no table %s", t.Rule, table.name),
					problem.DidYouMean(strings.ToLower(table.name), names)))
			}
		}
	}
	return found
}

// key is where the row names the column.
func (r cells) key(column string) *strictyaml.Node {
	for _, f := range r.node.Fields {
		if strings.ToLower(f.Name) == column {
			return f.Key
		}
	}
	return r.node
}

// columns are the names that the row has, sorted.
func (r cells) columns() []string { return slices.Sorted(maps.Keys(r.values)) }

// rows are those of all steps of the test.
func (t *Test) rows() []cells {
	var all []cells
	for _, s := range t.Steps {
		all = append(all, s.Rows...)
	}
	return all
}

// queries tells whether the probe itself runs in a step; tables: {} is a database without tables.
func (t *Test) queries() bool {
	return slices.ContainsFunc(t.Steps, func(s *Step) bool { return s.Tables != nil })
}

// tables are the names of the tables of all steps, sorted.
func (t *Test) tables() []string {
	var names []string
	for _, s := range t.Steps {
		for _, table := range s.Tables {
			names = append(names, folded(table.name))
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// find returns the rule that the test is about.
func (s *suite) find(t *Test) *rules.Rule { return s.set.Find(t.Rule, t.Scope) }
