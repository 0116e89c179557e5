package rules

import (
	"tallyman/rules/problem"
	"tallyman/rules/strictyaml"
)

// origin is where a rule was written: its merged tree, whose nodes know their places.
type origin struct {
	file *strictyaml.File
	tree *strictyaml.Node
	item int // of the file's list of rules
}

// Problem makes a problem that stands at the field with that path, e.g. "notice.priority" or
// "deliver[0].sink"; where the rule does not have the field, at the nearest field around it.
func (r *Rule) Problem(path, code, message, hint string) problem.Problem {
	p := problem.Problem{Code: code, File: r.File, Message: message, Hint: hint}
	if r.origin.file != nil {
		p = r.origin.file.Problem(r.origin.at(path, true), code, message, hint)
	}
	p.Rule = r.ID
	return p
}

// ProblemIn makes a problem that stands at a character inside a text field; offset counts the characters of
// the text from 0.
func (r *Rule) ProblemIn(path string, offset int, code, message, hint string) problem.Problem {
	n := r.origin.at(path, false)
	if n == nil {
		return r.Problem(path, code, message, hint)
	}
	p := r.origin.file.ProblemIn(n, offset, code, message, hint)
	p.Rule = r.ID
	return p
}

// has tells whether the field was written, in the rule, its defaults or its scope's overrides.
func (o origin) has(path string) bool { return o.at(path, false) != nil }

// at finds the node at the path. With near, a path that ends early gives the key of the last field that is there.
func (o origin) at(path string, near bool) *strictyaml.Node {
	n, last := o.tree.Walk(path)
	if n == nil && near {
		return last
	}
	return n
}
