package message

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"text/template/parse"

	"tallyman/rules/problem"
)

// walk checks a parsed template against what a text may hold, and collects the columns it names.
type walk struct {
	t      *Template
	faults []Fault
}

func (w *walk) fault(at parse.Pos, code, message, hint string) {
	w.faults = append(w.faults, Fault{w.t.chars(at), code, message, hint})
}

// list walks nodes. onRow is false where the dot is a value that with set.
func (w *walk) list(l *parse.ListNode, onRow bool) {
	if l == nil {
		return
	}
	for _, n := range l.Nodes {
		w.node(n, onRow)
	}
}

func (w *walk) node(n parse.Node, onRow bool) {
	switch n := n.(type) {
	case *parse.TextNode, *parse.CommentNode:
	case *parse.ActionNode:
		w.pipe(n.Pipe, onRow)
	case *parse.IfNode:
		w.pipe(n.Pipe, onRow)
		w.list(n.List, onRow)
		w.list(n.ElseList, onRow)
	case *parse.WithNode:
		w.pipe(n.Pipe, onRow)
		w.list(n.List, false)
		w.list(n.ElseList, onRow)
	case *parse.RangeNode:
		w.fault(n.Position(), CodeNotAvailable, "range is not available in this version", "it will go over the .rows of a group")
	case *parse.TemplateNode:
		w.fault(n.Position(), CodeFunction, "a text calls no templates", "write it out where it is needed")
	default:
		w.fault(n.Position(), CodeSyntax, fmt.Sprintf("%s means nothing here", n), "")
	}
}

func (w *walk) pipe(p *parse.PipeNode, onRow bool) {
	if p == nil {
		return
	}
	for i, c := range p.Cmds {
		w.command(c, i > 0, onRow)
	}
}

// command walks one stage of a pipeline; piped tells whether it gets the value of the stage before.
func (w *walk) command(c *parse.CommandNode, piped, onRow bool) {
	given := len(c.Args) - 1
	if piped {
		given++
	}
	if f, ok := c.Args[0].(*parse.IdentifierNode); ok {
		w.call(f, given)
	} else {
		w.argument(c.Args[0], onRow)
		if given > 0 {
			w.fault(c.Args[0].Position(), CodeFunction, fmt.Sprintf("%s is no helper, it takes no arguments", c.Args[0]), "the helper comes first, as in {{ .qty | round 2 }}")
		}
	}
	for _, a := range c.Args[1:] {
		if f, ok := a.(*parse.IdentifierNode); ok {
			w.call(f, 0)
			continue
		}
		w.argument(a, onRow)
	}
}

func (w *walk) call(f *parse.IdentifierNode, given int) {
	takes, ok := helpers[f.Ident]
	if !ok {
		names := slices.Sorted(maps.Keys(helpers))
		hint := problem.DidYouMean(f.Ident, names)
		switch {
		case given == 0:
			hint = "a column is written with a dot, as ." + f.Ident
		case hint == "":
			hint = "helpers: " + strings.Join(names, ", ")
		}
		w.fault(f.Position(), CodeFunction, fmt.Sprintf("there is no helper %q", f.Ident), hint)
		return
	}
	if given < takes.least || given > takes.most {
		w.fault(f.Position(), CodeFunction, fmt.Sprintf("%s takes %s, not %d", f.Ident, takes, given), "as in "+takes.example)
	}
}

func (w *walk) argument(n parse.Node, onRow bool) {
	switch n := n.(type) {
	case *parse.FieldNode:
		if !onRow {
			w.fault(n.Position(), CodeSyntax, fmt.Sprintf("inside with, the dot is the value, which has no column %s", n), "write $"+n.String())
			return
		}
		w.column(n.Ident, n.Position(), n)
	case *parse.VariableNode:
		switch {
		case n.Ident[0] == "$" && len(n.Ident) > 1:
			w.column(n.Ident[1:], n.Position(), n)
		case n.Ident[0] == "$":
			w.fault(n.Position(), CodeSyntax, "$ is the whole row", "name a column, as {{ .sku }}")
		case len(n.Ident) > 1:
			w.fault(n.Position(), CodeSyntax, fmt.Sprintf("%s: a value has no fields", n), "")
		}
	case *parse.DotNode:
		if onRow {
			w.fault(n.Position(), CodeSyntax, "the dot alone is the whole row", "name a column, as {{ .sku }}")
		}
	case *parse.PipeNode:
		w.pipe(n, onRow)
	case *parse.ChainNode:
		w.fault(n.Position(), CodeSyntax, fmt.Sprintf("%s: a value has no fields", n), "")
	case *parse.NilNode:
		w.fault(n.Position(), CodeSyntax, "nil has no text", "a column that is NULL prints empty, and is false in an if")
	default: // literals
	}
}

func (w *walk) column(path []string, at parse.Pos, n parse.Node) {
	if len(path) > 1 {
		w.fault(at, CodeSyntax, fmt.Sprintf("%s: a column has no fields", n), "")
		return
	}
	w.t.refs = append(w.t.refs, ref{path[0], at})
}
