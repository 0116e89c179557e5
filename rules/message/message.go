// Package message turns the rows of a probe into words. A template is Go's text/template cut down to what a
// notice needs: columns, if and with, variables, and a few helpers that see nothing but their
// arguments. It has no loops, no named templates and no clock, so that rendering ends soon and gives the same text twice.
package message

import (
	"text/template"
	"text/template/parse"
	"time"

	"tallyman/rules/row"
)

// MaxSize is how long a template, and what it renders, may be, in bytes. Longer output is cut and ends in "…".
const MaxSize = 64 << 10

// The codes of this package's problems.
const (
	CodeSyntax       = "template_syntax"
	CodeFunction     = "template_function"
	CodeKind         = "template_kind"
	CodeNotAvailable = "not_available"
	CodeColumn       = "unknown_column"
)

// Fault is one problem of a template.
type Fault struct {
	Offset  int // in characters from the start of the template
	Code    string
	Message string
	Hint    string
}

// Template is a template whose syntax is sound.
type Template struct {
	src  string
	tree *parse.Tree
	refs []ref
}

// ref is a column that the template names.
type ref struct {
	name string
	at   parse.Pos
}

// Columns returns the columns that the template names, in order of appearance.
func (t *Template) Columns() []string {
	names := make([]string, len(t.refs))
	for i, r := range t.refs {
		names[i] = r.name
	}
	return names
}

// Bound is a template over the columns of a probe. It is not safe for concurrent use.
type Bound struct {
	pieces   []piece // of a template that only puts columns into words; nil where it does more
	template *template.Template
	columns  []int // that it names
	data     map[string]any
	out      limited
}

// piece is a stretch of words and the column after it, or -1.
type piece struct {
	words  string
	column int
}

// Bind checks the template against the columns. Dates are written in the zone.
func (t *Template) Bind(columns []row.Column, zone *time.Location) (*Bound, []Fault) {
	b := &Bound{data: map[string]any{}}
	var faults []Fault
	for _, r := range t.refs {
		i := row.Index(columns, r.name)
		if i < 0 {
			faults = append(faults, t.unknownColumn(r, columns))
			continue
		}
		b.columns = append(b.columns, i)
	}
	if len(faults) > 0 {
		return nil, faults
	}
	if faults := t.rehearse(columns, b.columns, zone); len(faults) > 0 {
		return nil, faults
	}
	b.template = executable(t.tree, zone)
	b.pieces = pieces(t.tree.Root, columns)
	return b, nil
}

// pieces cuts a template without logic, as most are: it need not be interpreted for each row.
func pieces(l *parse.ListNode, columns []row.Column) []piece {
	all := []piece{}
	words := ""
	for _, n := range l.Nodes {
		switch n := n.(type) {
		case *parse.TextNode:
			words += string(n.Text)
		case *parse.ActionNode:
			if len(n.Pipe.Cmds) != 1 || len(n.Pipe.Decl) != 0 || len(n.Pipe.Cmds[0].Args) != 1 {
				return nil
			}
			f, ok := n.Pipe.Cmds[0].Args[0].(*parse.FieldNode)
			if !ok {
				return nil
			}
			all = append(all, piece{words, row.Index(columns, f.Ident[0])})
			words = ""
		default:
			return nil
		}
	}
	return append(all, piece{words, -1})
}

// executable makes a template of a tree that the walk has checked.
func executable(tree *parse.Tree, zone *time.Location) *template.Template {
	made, err := template.New(tree.Name).Option("missingkey=error").Funcs(functions(zone)).AddParseTree(tree.Name, tree)
	if err != nil {
		panic("message: " + err.Error()) // AddParseTree fails only for a template that was executed before
	}
	return made
}

// Clone returns a Bound for another goroutine.
func (b *Bound) Clone() *Bound {
	return &Bound{pieces: b.pieces, template: b.template, columns: b.columns, data: map[string]any{}}
}
