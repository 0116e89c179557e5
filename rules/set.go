package rules

import (
	"cmp"
	"slices"
	"strings"

	"tallyman/rules/problem"
)

// Set is what Load made of the rule files.
type Set struct {
	Rules    []*Rule      // sound ones, by id and scope
	Problems problem.List // of all files, by file and place
	Files    []File       // by path

	written map[string]origin // where each id was met first, its tree left out; bad rules too
	broken  []brokenFile
}

// File is one rule file.
type File struct {
	Path     string
	Rules    int // entries of its list, bad ones included
	Problems int
}

// Complete tells whether every rule that was written is in Rules. Where it is false, a rule that is missing may
// just be broken: its findings must not be taken for those of a removed rule.
func (s *Set) Complete() bool { return len(s.Problems) == 0 }

// Find returns the rule in the scope, or nil.
func (s *Set) Find(id, scope string) *Rule {
	for _, r := range s.Rules {
		if r.ID == id && r.Scope == scope {
			return r
		}
	}
	return nil
}

// Sort orders rules by id and scope.
func Sort(list []*Rule) {
	slices.SortStableFunc(list, func(a, b *Rule) int {
		return strings.Compare(a.ID+"\x00"+a.Scope, b.ID+"\x00"+b.Scope)
	})
}

// drop removes the rules that the problems name, in all their scopes, and adds the problems.
func (s *Set) drop(found problem.List) {
	bad := map[string]bool{}
	for _, p := range found {
		bad[p.File+"\x00"+p.Rule] = true
	}
	s.Rules = slices.DeleteFunc(s.Rules, func(r *Rule) bool { return bad[r.File+"\x00"+r.ID] })
	s.Problems = Tidy(append(s.Problems, found...))
	for i := range s.Files {
		s.Files[i].Problems = 0
		for _, p := range s.Problems {
			if p.File == s.Files[i].Path {
				s.Files[i].Problems++
			}
		}
	}
}

// Tidy orders problems by place and drops repetitions: what stands in the defaults is met once a rule, what
// stands in a rule once a scope.
func Tidy(l problem.List) problem.List {
	type place struct {
		file, code, message string
		line, col           int
	}
	seen := map[place]bool{}
	var out problem.List
	for _, p := range l {
		at := place{p.File, p.Code, p.Message, p.Line, p.Col}
		if !seen[at] {
			seen[at] = true
			out = append(out, p)
		}
	}
	slices.SortStableFunc(out, func(a, b problem.Problem) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Col, b.Col))
	})
	return out
}
