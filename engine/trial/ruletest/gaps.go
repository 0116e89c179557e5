package ruletest

import (
	"math"
	"slices"
)

// sum counts what was reached and lists what was not. Of a rule without a test only that is listed, but all of it counts.
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
		s.Percent = math.Floor(1000*float64(reached)/float64(all)) / 10 // 100 is all of it
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
