package rules

import (
	"fmt"

	"tallyman/rules/problem"
	"tallyman/rules/strictyaml"
)

// origin says where a rule was written. It lets later checks report a problem with its place in the file.
type origin struct {
	file *strictyaml.File
	tree *strictyaml.Node // The merged tree of the rule. Its nodes know their places.
	item int              // The rule's position in the file's list of rules.
}

// Problem makes a problem whose place is the field with the path, such as "notice.priority" or "deliver[0].sink". Where
// the rule does not have the field, the place is the nearest field around it.
func (r *Rule) Problem(path, code, message, hint string) problem.Problem {
	p := problem.Problem{Code: code, File: r.File, Message: message, Hint: hint}
	if r.origin.file != nil {
		p = r.origin.file.Problem(r.origin.at(path, true), code, message, hint)
	}
	p.Rule = r.ID
	return p
}

// ProblemIn makes a problem whose place is a character inside a text field. offset counts the characters of the text
// from 0.
func (r *Rule) ProblemIn(path string, offset int, code, message, hint string) problem.Problem {
	n := r.origin.at(path, false)
	if n == nil {
		return r.Problem(path, code, message, hint)
	}
	p := r.origin.file.ProblemIn(n, offset, code, message, hint)
	p.Rule = r.ID
	return p
}

// has tells whether the field is written in the rule, in the defaults or in the scope's overrides.
func (o origin) has(path string) bool { return o.at(path, false) != nil }

// at returns the node at the path, or nil. With near, at returns the last key or list item on the path that exists, if
// the whole path does not exist.
func (o origin) at(path string, near bool) *strictyaml.Node {
	n, last := o.tree.Walk(path)
	if n == nil && near {
		return last
	}
	return n
}

// WrittenRule is the text of a rule in its file, with all its scopes.
type WrittenRule struct {
	File string
	Line int    // The first line of the rule.
	YAML string // The text of the file, with indentation and comments.
}

// brokenFile is a file that is not YAML.
type brokenFile struct{ path, src string }

func writtenAs(e strictyaml.Entry) WrittenRule {
	return WrittenRule{File: e.File(), Line: e.Line(), YAML: e.Text()}
}

// entry returns the rule's entry in its file. It returns false for a rule that was not read from a file.
func (o origin) entry() (strictyaml.Entry, bool) {
	if o.file == nil {
		return strictyaml.Entry{}, false
	}
	return o.file.Entry(o.file.Root.Get("rules"), o.item), true
}

// Written returns the text of the rule at the time it was loaded. Later changes of the file do not matter.
func (r *Rule) Written() WrittenRule {
	e, ok := r.origin.entry()
	if !ok {
		return WrittenRule{File: r.File}
	}
	return writtenAs(e)
}

// Written returns the text of the rule with the id, also of a bad rule. In a file that is not YAML it takes the lines
// that look like the rule. It returns false where no file has the rule.
func (s *Set) Written(id string) (WrittenRule, bool) {
	if e, ok := s.written[id].entry(); ok {
		return writtenAs(e), true
	}
	for _, f := range s.broken {
		if e, ok := strictyaml.EntryIn(f.path, f.src, "id", id); ok {
			return writtenAs(e), true
		}
	}
	return WrittenRule{}, false
}

// RewrittenRule is a rule's file with another text in the place of the rule.
type RewrittenRule struct {
	Set *Set // The scopes of the rule, and the problems of these scopes and of the file around them.

	put strictyaml.Put
	r   *Rule
}

// Rewrite puts another text in the place of the rule. The text is the rule's item of the list, with or without its
// dash. The defaults and anchors of the file apply to the text. The id must stay the same.
func (r *Rule) Rewrite(text string) *RewrittenRule {
	e, ok := r.origin.entry()
	if !ok {
		return &RewrittenRule{Set: &Set{Problems: problem.List{r.Problem("", CodeUnreadable, "this rule has no file", "")}}, r: r}
	}
	d := &RewrittenRule{put: e.Put(text), r: r}
	d.Set = LoadFile(r.File, d.put.Source)
	d.keepOwn()
	if len(d.Set.Problems) == 0 {
		d.Set.Problems = d.frame()
	}
	if len(d.Set.Problems) > 0 {
		d.Set.Rules = nil
	}
	return d
}

// Texts returns the file as it was loaded, and the file with the new text. Both are empty where the rule has no file.
func (d *RewrittenRule) Texts() (before, after string) {
	return string(d.put.Before), string(d.put.Source)
}

// keepOwn drops the other rules of the file and their problems.
func (d *RewrittenRule) keepOwn() {
	var own []*Rule
	for _, r := range d.Set.Rules {
		if r.ID == d.r.ID {
			own = append(own, r)
		}
	}
	var problems problem.List
	for _, p := range d.Set.Problems {
		if _, _, inside := d.put.Place(p.Line, p.Col); inside || p.Rule == "" || p.Rule == d.r.ID {
			problems = append(problems, p)
		}
	}
	d.Set.Rules, d.Set.Problems = own, problems
}

// frame checks that the file with the new text still has the same number of rules, and that the rule has kept its id.
func (d *RewrittenRule) frame() problem.List {
	f, problems := strictyaml.Parse(d.r.File, d.put.Source)
	if f == nil {
		return problems
	}
	list := f.Root.Get("rules")
	before := len(d.r.origin.file.Root.Get("rules").Items)
	first := &strictyaml.Node{Line: d.put.Line(), Col: 1}
	switch {
	case list == nil || len(list.Items) < before:
		return problem.List{f.Problem(first, strictyaml.CodeMissing, "this is no rule", "write the rule's entry as it stands in its file")}
	case len(list.Items) > before:
		return problem.List{f.Problem(list.Items[d.r.origin.item+1], CodeConflict, "another rule begins here", "a draft holds one rule")}
	}
	n := list.Items[d.r.origin.item]
	if id := n.Get("id"); id == nil || id.Text != d.r.ID {
		return problem.List{f.Problem(n.Get("id"), CodeBadID, fmt.Sprintf("the id is no longer %q", d.r.ID), "keep the id; a new id makes a new rule")}
	}
	return nil
}

// Place moves a problem to its place in the text of the draft, and clears its file. A problem elsewhere in the file
// keeps its file. Its place becomes the place in the file without the draft.
func (d *RewrittenRule) Place(p problem.Problem) problem.Problem {
	line, col, inside := d.put.Place(p.Line, p.Col)
	if p.Line == 0 {
		return p
	}
	if inside {
		p.File = ""
	}
	p.Line, p.Col = line, col
	return p
}
