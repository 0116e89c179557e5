package ruletest

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"tallyman/engine/trial"
	"tallyman/internal/ledger"
	"tallyman/rules"
	"tallyman/rules/condition"
	"tallyman/rules/row"
)

// Cover says what the tests reach: the rules, both outcomes of each branch of `when`, and the entries of deliver.
type Cover struct {
	Percent    float64 `json:"percent"`
	Rules      Share   `json:"rules"`
	Branches   Share   `json:"branches"` // Each branch counts twice: for true and for false.
	Deliveries Share   `json:"deliveries"`
	Missing    []Gap   `json:"missing"` // Sorted by place.
}

// Share counts what the tests reach, and all that they could reach.
type Share struct {
	Reached int `json:"reached"`
	All     int `json:"all"`
}

// Gap is something that no test reaches.
type Gap struct {
	File string `json:"file"`
	Line int    `json:"line"`
	Col  int    `json:"col"`
	Rule string `json:"rule"`
	What string `json:"what"` // rule, branch or delivery.
	Text string `json:"text,omitempty"`
	Miss string `json:"miss"` // Such as "never true".
}

// rulePlace is the place of a part of a rule in its file. rulePlace identifies the part: the scopes of a rule share a
// part, unless a scope overrides it.
type rulePlace struct {
	file      string
	line, col int
	rule      string // Distinguishes rules that share a part in the defaults of the file.
}

func (a rulePlace) compare(b rulePlace) int {
	return cmp.Or(cmp.Compare(a.file, b.file), cmp.Compare(a.line, b.line), cmp.Compare(a.col, b.col), cmp.Compare(a.rule, b.rule))
}

// coverage collects what the tests reach.
type coverage struct {
	rules      map[rulePlace]*reachCount // Keyed by the place of the id.
	conditions map[rulePlace]*branches   // Keyed by the place of `when`.
	sinks      map[rulePlace]*reachCount // Keyed by the place of the entry of deliver.

	current *branches // The condition of the current test.
}

// reachCount is a part of a rule, and whether a test reaches it.
type reachCount struct {
	name string
	yes  bool
}

// branches are the smallest parts of a condition.
type branches struct {
	result bool // The condition is about the result as a whole.
	tested bool // A test has run, so the leaves are based on the real columns of the probe.
	leaves []*branch

	parts *condition.Parts // Compiled for the columns of the current test.
	index []int            // The index of each leaf in parts. -1 means parts does not have the leaf.
}

type branch struct {
	place   rulePlace
	text    string
	yes, no bool
}

func newCoverage() *coverage {
	return &coverage{rules: map[rulePlace]*reachCount{}, conditions: map[rulePlace]*branches{}, sinks: map[rulePlace]*reachCount{}}
}

func placeOf(r *rules.Rule, path string, offset int) rulePlace {
	p := r.ProblemIn(path, offset, "", "", "")
	return rulePlace{p.File, p.Line, p.Col, r.ID}
}

func deliverPath(i int) string { return fmt.Sprintf("deliver[%d].sink", i) }

// add registers a rule that should have tests.
func (c *coverage) add(r *rules.Rule) {
	if at := placeOf(r, "id", 0); c.rules[at] == nil {
		c.rules[at] = &reachCount{name: r.ID}
	}
	for i, d := range r.Deliver {
		if at := placeOf(r, deliverPath(i), 0); c.sinks[at] == nil {
			c.sinks[at] = &reachCount{name: d.Sink}
		}
	}
	if at := placeOf(r, "when", 0); c.conditions[at] == nil && r.When != "true" {
		var columns []row.Column // Their kinds are not known until a test runs the rule.
		for _, name := range used(r) {
			columns = append(columns, row.Column{Name: name})
		}
		c.conditions[at] = &branches{result: r.Per == rules.PerResult}
		c.conditions[at].take(r, columns)
	}
}

// take splits the condition into branches for these columns. Where that fails, the whole condition is one branch.
func (b *branches) take(r *rules.Rule, columns []row.Column) {
	takeApart := condition.NewParts
	if b.result {
		takeApart = condition.NewResultParts
	}
	var leaves []*branch
	at := map[rulePlace]int{}
	parts, err := takeApart(r.When, columns)
	if err != nil {
		leaves = []*branch{{place: placeOf(r, "when", 0), text: r.When}}
	} else {
		list := parts.List()
		for i, p := range list {
			if made := i+1 < len(list) && list[i+1].Depth > p.Depth; !made && !p.Constant {
				leaf := &branch{place: placeOf(r, "when", p.Offset), text: p.Text}
				leaves = append(leaves, leaf)
				at[leaf.place] = i
			}
		}
	}
	if !b.tested {
		b.leaves = leaves
	}
	b.parts, b.index = parts, make([]int, len(b.leaves))
	for i, leaf := range b.leaves {
		b.index[i] = -1
		if k, ok := at[leaf.place]; ok {
			b.index[i] = k
		}
	}
}

// begin records that a test runs the rule with these columns.
func (c *coverage) begin(r *rules.Rule, columns []row.Column) {
	c.add(r)
	c.rules[placeOf(r, "id", 0)].yes = true
	if c.current = c.conditions[placeOf(r, "when", 0)]; c.current != nil {
		c.current.take(r, columns)
		c.current.tested = true
	}
}

// see notes what a run reaches.
func (c *coverage) see(r *rules.Rule, run *trial.Run, due time.Time) {
	for _, commit := range run.Commits {
		for _, n := range commit.Notices {
			for i, d := range r.Deliver {
				if r.Shadow || slices.ContainsFunc(n.Sinks, func(t ledger.Target) bool { return t.Sink == d.Sink }) {
					c.sinks[placeOf(r, deliverPath(i), 0)].yes = true
				}
			}
		}
	}
	if c.current == nil || c.current.parts == nil {
		return
	}
	c.current.parts.SetNow(due)
	if c.current.result && run.Run.Outcome != ledger.OutcomeFailed {
		outcomes, _ := c.current.parts.ResultOutcomes(run.Rows)
		c.current.note(outcomes)
		return
	}
	for _, values := range run.Rows {
		outcomes, _ := c.current.parts.Outcomes(values)
		c.current.note(outcomes)
	}
}

func (b *branches) note(outcomes []condition.Outcome) {
	for i, leaf := range b.leaves {
		if k := b.index[i]; k >= 0 {
			leaf.yes = leaf.yes || outcomes[k] == condition.True
			leaf.no = leaf.no || outcomes[k] == condition.False
		}
	}
}

// sum counts what was reached, and lists what was not. For a rule without a test it lists only the rule, but counts all
// its parts.
func (c *coverage) sum() *Cover {
	s := &Cover{Missing: []Gap{}}
	untested := map[string]bool{}
	for at, r := range c.rules {
		s.Rules.count(r.yes)
		if !r.yes {
			untested[at.rule] = true
			s.miss(at, "rule", "", "no test")
		}
	}
	for at, r := range c.sinks {
		s.Deliveries.count(r.yes)
		if !r.yes && !untested[at.rule] {
			s.miss(at, "delivery", r.name, "no notice goes there")
		}
	}
	for _, b := range c.conditions {
		for _, leaf := range b.leaves {
			s.Branches.count(leaf.yes)
			s.Branches.count(leaf.no)
			miss := map[[2]bool]string{{false, false}: "never true and never false", {false, true}: "never true", {true, false}: "never false"}[[2]bool{leaf.yes, leaf.no}]
			if miss != "" && !untested[leaf.place.rule] {
				s.miss(leaf.place, "branch", leaf.text, miss)
			}
		}
	}
	slices.SortFunc(s.Missing, func(a, b Gap) int {
		return rulePlace{a.File, a.Line, a.Col, a.Rule}.compare(rulePlace{b.File, b.Line, b.Col, b.Rule})
	})
	reached, all := 0, 0
	for _, share := range []Share{s.Rules, s.Branches, s.Deliveries} {
		reached, all = reached+share.Reached, all+share.All
	}
	if s.Percent = 100; all > 0 {
		s.Percent = math.Floor(1000*float64(reached)/float64(all)) / 10 // Rounded down, so that 100 means everything.
	}
	return s
}

func (s *Share) count(reached bool) {
	s.All++
	if reached {
		s.Reached++
	}
}

func (s *Cover) miss(at rulePlace, what, text, miss string) {
	s.Missing = append(s.Missing, Gap{File: at.file, Line: at.line, Col: at.col, Rule: at.rule, What: what, Text: text, Miss: miss})
}
