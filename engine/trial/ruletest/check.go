package ruletest

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"tallyman/rules"
	"tallyman/rules/probe"
	"tallyman/rules/problem"
	"tallyman/rules/row"
	"tallyman/rules/scopelist"
	"tallyman/rules/strictyaml"
)

// check compares the tests with their rules and reports what does not fit. A test with a problem does not run.
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
	if len(wrong) > 0 { // All tests share the shape of the tables, so no test with tables can run.
		r.report.Problems = append(r.report.Problems, wrong...)
		for _, t := range s.Tests {
			if t.queries() {
				s.bad[t] = true
			}
		}
	}
}

// unknown finds a rule or scope that does not exist. For a rule with problems it points to these problems.
func (s *suite) unknown(t *Test) (problem.Problem, bool) {
	var ids, scopes []string
	for _, rule := range s.set.Rules {
		ids = append(ids, rule.ID)
		if rule.ID == t.Rule {
			scopes = append(scopes, rule.Scope)
		}
	}
	if i := slices.IndexFunc(s.set.Rules, func(r *rules.Rule) bool { return r.ID == t.Rule && r.Placeholder != "" }); i >= 0 {
		return s.listed(t, s.set.Rules[i])
	}
	if len(t.Params) > 0 || t.Timezone != "" {
		return s.yaml.Problem(t.node, CodeUnknownScope, "params and timezone belong to a scope that a query lists, and the rule has no query for its scopes", "remove them"), true
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

// uneven finds a row whose columns differ from the columns of the test's first row. A probe returns all its columns.
// Without the check a typing error in the name of a column would become a NULL in the right column.
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

// unread finds tables that the probe does not read. Without the check a typing error in the name of a table would leave
// the right table empty.
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

// key returns the place where the row names the column.
func (r cells) key(column string) *strictyaml.Node {
	for _, f := range r.node.Fields {
		if strings.ToLower(f.Name) == column {
			return f.Key
		}
	}
	return r.node
}

// columns returns the names of the row's columns, sorted.
func (r cells) columns() []string { return slices.Sorted(maps.Keys(r.values)) }

// rows returns the rows of all steps of the test.
func (t *Test) rows() []cells {
	var all []cells
	for _, s := range t.Steps {
		all = append(all, s.Rows...)
	}
	return all
}

// queries tells whether the probe runs on tables in any step. tables: {} is a database without tables.
func (t *Test) queries() bool {
	return slices.ContainsFunc(t.Steps, func(s *Step) bool { return s.Tables != nil })
}

// tables returns the names of the tables of all steps, sorted.
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
func (s *suite) find(t *Test) *rules.Rule {
	if made := s.made[t]; made != nil {
		return made
	}
	return s.set.Find(t.Rule, t.Scope)
}

// listed makes the scope that the test names, as if the query of the rule had listed it.
func (s *suite) listed(t *Test, r *rules.Rule) (problem.Problem, bool) {
	fail := func(n *strictyaml.Node, message, hint string) (problem.Problem, bool) {
		return s.yaml.Problem(n, CodeUnknownScope, message, hint), true
	}
	if t.Scope == "" {
		return fail(t.node, fmt.Sprintf("a query lists the scopes of %s, and the test names none", t.Rule), "name one as the query would, with params and timezone where the query has them")
	}
	if name, ok := rules.ScopeName(row.TextOf(t.Scope)); !ok || name != t.Scope {
		return fail(t.node.Get("scope"), fmt.Sprintf("%q cannot name a scope", t.Scope), "letters, digits, _ . and -, at most 64, beginning with a letter or digit")
	}
	params := map[string]any{}
	for _, name := range slices.Sorted(maps.Keys(t.Params)) {
		own, known := r.Probe.Params[name]
		value := t.Params[name]
		if n, isInt := value.(int64); isInt {
			if _, isFloat := own.(float64); isFloat {
				value = float64(n)
			}
		}
		switch {
		case !known:
			return fail(t.node.Get("params").Field(name).Key, fmt.Sprintf("%s has no parameter %q", t.Rule, name), nearest(name, slices.Sorted(maps.Keys(r.Probe.Params))))
		case value == nil:
			continue // The rule's own value applies.
		case own != nil && fmt.Sprintf("%T", own) != fmt.Sprintf("%T", value):
			return fail(t.node.Get("params", name), fmt.Sprintf("params.%s is of another type than the rule's own value", name), "write a value of the same type")
		}
		params[name] = value
	}
	made, problems := rules.Expand([]*rules.Rule{r}, map[string]scopelist.List{r.ID: {{Name: t.Scope, Timezone: t.Timezone, Params: params}}})
	if len(problems) > 0 {
		return fail(t.node.Get("timezone"), problems[0].Message, problems[0].Hint)
	}
	s.made[t] = made[0]
	return problem.Problem{}, false
}
