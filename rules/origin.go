package rules

import (
	"fmt"

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

// WrittenRule is how a rule is written in its file, with the scopes that it has.
type WrittenRule struct {
	File string
	Line int    // of its beginning
	YAML string // as it stands there, indentation and comments included
}

// brokenFile is a file that is no YAML.
type brokenFile struct{ path, src string }

func writtenAs(e strictyaml.Entry) WrittenRule {
	return WrittenRule{File: e.File(), Line: e.Line(), YAML: e.Text()}
}

// entry is how the rule is written; false of a rule that was not read from a file.
func (o origin) entry() (strictyaml.Entry, bool) {
	if o.file == nil {
		return strictyaml.Entry{}, false
	}
	return o.file.Entry(o.file.Root.Get("rules"), o.item), true
}

// Written returns how the rule was written when it was loaded, whatever became of its file since.
func (r *Rule) Written() WrittenRule {
	e, ok := r.origin.entry()
	if !ok {
		return WrittenRule{File: r.File}
	}
	return writtenAs(e)
}

// Written returns how the rule of that id is written in the files, be it bad; of a file that is no YAML, what looks like it. false: it is nowhere.
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

// RewrittenRule is what a rule's file would be with another text of the rule.
type RewrittenRule struct {
	Set *Set // the rule's scopes, and what is wrong with them and with the frame of the file

	put strictyaml.Put
	r   *Rule
}

// Rewrite puts a text in the place of the rule's own: its item of the list or the mapping that it is. The defaults and anchors of the file hold for it. The id
// has to stay.
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

// Texts are the file as it was loaded, and with the text in its place. They are empty where the rule has no file.
func (d *RewrittenRule) Texts() (before, after string) {
	return string(d.put.Before), string(d.put.Source)
}

// keepOwn drops what is of the file's other rules.
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

// frame holds the text against the file around it: it is one rule, and the same.
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
		return problem.List{f.Problem(n.Get("id"), CodeBadID, fmt.Sprintf("the id is no longer %q", d.r.ID), "a rule keeps its id for life; another id is another rule")}
	}
	return nil
}

// Place returns the problem with the place that it has in the text of the draft, and no file. One that stands elsewhere in the file keeps that, and has the place that it has there
// without the draft.
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
