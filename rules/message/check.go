package message

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"text/template"
	"text/template/parse"
	"time"

	"tallyman/internal/text"
	"tallyman/rules/problem"
	"tallyman/rules/row"
)

// walk checks that a parsed template has only what a text may hold. It collects the columns that the template names.
type walk struct {
	t       *Template
	faults  []Fault
	ranging bool            // The walk is inside a range.
	vars    []rangeVariable // The variables in scope, the innermost last.
}

// rangeVariable is a variable that range or := has set.
type rangeVariable struct {
	name string
	row  bool // The variable holds a row of a range, so it has columns.
}

// dot says what the dot of the template means at a place.
type dot int

const (
	dotTop   dot = iota // the row; in a template over rows, the columns that all rows share
	dotRow              // a row of a range
	dotValue            // the value of a `with`
)

func (w *walk) fault(at parse.Pos, code, message, hint string) {
	w.faults = append(w.faults, Fault{w.t.chars(at), code, message, hint})
}

// list walks a list of nodes. Variables that the nodes declare go out of scope at its end.
func (w *walk) list(l *parse.ListNode, on dot) {
	if l == nil {
		return
	}
	declared := len(w.vars)
	for _, n := range l.Nodes {
		w.node(n, on)
	}
	w.vars = w.vars[:declared]
}

func (w *walk) node(n parse.Node, on dot) {
	declared := len(w.vars)
	switch n := n.(type) {
	case *parse.TextNode:
		w.words(n)
	case *parse.CommentNode:
	case *parse.ActionNode:
		w.pipe(n.Pipe, on)
		return // a variable that an action declares stays in scope
	case *parse.IfNode:
		w.pipe(n.Pipe, on)
		w.list(n.List, on)
		w.list(n.ElseList, on)
	case *parse.WithNode:
		w.pipe(n.Pipe, on)
		w.list(n.List, dotValue)
		w.list(n.ElseList, on)
	case *parse.RangeNode:
		w.loop(n, on)
	case *parse.BreakNode, *parse.ContinueNode: // the parser knows that they stand in a range
	case *parse.TemplateNode:
		w.fault(n.Position(), CodeFunction, "a text cannot call templates", "write it out where it is needed")
	default:
		w.fault(n.Position(), CodeSyntax, fmt.Sprintf("%s cannot be used here", n), "")
	}
	w.vars = w.vars[:declared]
}

// dollarBraces matches a column in the form of shells and other template languages.
var dollarBraces = regexp.MustCompile(`\$\{\s*\.?(\w+)\s*\}`)

// words refuses ${qty}, because the notice would show it as it is written.
func (w *walk) words(n *parse.TextNode) {
	for _, m := range dollarBraces.FindAllSubmatchIndex(n.Text, -1) {
		name := string(n.Text[m[2]:m[3]])
		w.fault(n.Position()+parse.Pos(m[0]), CodeSyntax, string(n.Text[m[0]:m[1]])+" is not a column: the notice would show it as it is written",
			fmt.Sprintf("write {{ .%s }}; for the characters themselves {{ \"${\" }}%s}", name, name))
	}
}

// loop walks a range. A range goes over .rows, and does not stand inside another range.
func (w *walk) loop(n *parse.RangeNode, on dot) {
	switch {
	case !w.t.rows:
		w.fault(n.Position(), CodeRange, "range goes over .rows, which only rules with group_by or per: result have", "this text is about one row: name its columns")
		return
	case w.ranging:
		w.fault(n.Position(), CodeRange, "a range cannot stand inside another range", "")
		return
	case !w.overRows(n.Pipe, on):
		w.fault(n.Pipe.Position(), CodeRange, "range goes over .rows only", "as in {{ range .rows }}{{ .sku }}{{ end }}")
		return
	case n.Pipe.IsAssign:
		w.fault(n.Pipe.Position(), CodeRange, "range must declare its variables", "write := as in {{ range $row := .rows }}")
		return
	}
	for i, v := range n.Pipe.Decl {
		w.vars = append(w.vars, rangeVariable{v.Ident[0], i == len(n.Pipe.Decl)-1})
	}
	w.ranging = true
	w.list(n.List, dotRow)
	w.ranging = false
	w.vars = w.vars[:len(w.vars)-len(n.Pipe.Decl)]
	w.list(n.ElseList, on)
}

// overRows tells whether the pipeline is .rows alone. For a range with two variables, overRows changes the name in the
// tree. Rendering then also gives the positions of the rows.
func (w *walk) overRows(p *parse.PipeNode, on dot) bool {
	if len(p.Cmds) != 1 || len(p.Cmds[0].Args) != 1 {
		return false
	}
	var ident *string
	switch n := p.Cmds[0].Args[0].(type) {
	case *parse.FieldNode:
		if on == dotTop && len(n.Ident) == 1 {
			ident = &n.Ident[0]
		}
	case *parse.VariableNode:
		if n.Ident[0] == "$" && len(n.Ident) == 2 {
			ident = &n.Ident[1]
		}
	}
	if ident == nil || *ident != nameRows {
		return false
	}
	if len(p.Decl) == 2 {
		*ident = nameIndexed
	}
	return true
}

func (w *walk) pipe(p *parse.PipeNode, on dot) {
	if p == nil {
		return
	}
	for i, c := range p.Cmds {
		w.command(c, i > 0, on)
	}
	for _, v := range p.Decl {
		switch {
		case !p.IsAssign:
			w.vars = append(w.vars, rangeVariable{v.Ident[0], false})
		case w.holdsRow(v.Ident[0]):
			w.fault(v.Position(), CodeSyntax, v.Ident[0]+" is the row", "choose another name for the variable")
		}
	}
}

// holdsRow tells whether the variable holds a row of the range.
func (w *walk) holdsRow(name string) bool {
	for _, v := range slices.Backward(w.vars) {
		if v.name == name {
			return v.row
		}
	}
	return false
}

// command walks one stage of a pipeline. piped tells whether the stage gets the value of the stage before it.
func (w *walk) command(c *parse.CommandNode, piped bool, on dot) {
	given := len(c.Args) - 1
	if piped {
		given++
	}
	if f, ok := c.Args[0].(*parse.IdentifierNode); ok {
		w.call(f, given)
	} else {
		w.argument(c.Args[0], on)
		w.literal(c.Args[0])
		if given > 0 {
			w.fault(c.Args[0].Position(), CodeFunction, fmt.Sprintf("%s is no helper, it takes no arguments", c.Args[0]), "a helper comes before its arguments, as in {{ round 2 .qty }}")
		}
	}
	for _, a := range c.Args[1:] {
		if f, ok := a.(*parse.IdentifierNode); ok {
			w.call(f, 0)
			continue
		}
		w.argument(a, on)
	}
}

// literal refuses characters in a literal that no text may have, because the template would print the literal.
// Arguments of helpers are not printed, so literal does not check them.
func (w *walk) literal(n parse.Node) {
	if s, ok := n.(*parse.StringNode); ok {
		if fault := text.Check(s.Text, text.Lines); fault != nil {
			w.fault(s.Position(), text.Code, fmt.Sprintf("the text %s: %v", s.Quoted, fault), "")
		}
	}
}

func (w *walk) call(f *parse.IdentifierNode, given int) {
	takes, ok := helper(f.Ident)
	if !ok {
		names := helperNames()
		hint := problem.DidYouMean(f.Ident, names)
		switch {
		case w.t.rows && (f.Ident == "len" || f.Ident == "count"):
			hint = ".row_count is the number of rows"
		case given == 0:
			hint = "a column is written with a dot, as ." + f.Ident
		case hint == "":
			hint = "helpers: " + strings.Join(names, ", ")
		}
		w.fault(f.Position(), CodeFunction, fmt.Sprintf("there is no helper %q", f.Ident), hint)
		return
	}
	if given < takes.Least || given > takes.Most {
		w.fault(f.Position(), CodeFunction, fmt.Sprintf("%s takes %s, not %d", f.Ident, takes.arguments(), given), "as in "+takes.Example)
	}
}

func (w *walk) argument(n parse.Node, on dot) {
	switch n := n.(type) {
	case *parse.FieldNode:
		if on == dotValue {
			hint := "write $" + n.String()
			if w.ranging {
				hint = "name the row, as in {{ range $row := .rows }}, and write $row" + n.String()
			}
			w.fault(n.Position(), CodeSyntax, fmt.Sprintf("inside with, the dot is the value, which has no column %s", n), hint)
			return
		}
		w.column(n.Ident, n.Position(), n, on == dotRow)
	case *parse.VariableNode:
		w.variable(n)
	case *parse.DotNode:
		if on != dotValue {
			w.fault(n.Position(), CodeSyntax, "the dot alone is the whole row", "name a column, as {{ .sku }}")
		}
	case *parse.PipeNode:
		w.pipe(n, on)
	case *parse.ChainNode:
		w.fault(n.Position(), CodeSyntax, fmt.Sprintf("%s: a value has no fields", n), "")
	case *parse.NilNode:
		w.fault(n.Position(), CodeSyntax, "nil has no text", "a column that is NULL prints empty, and is false in an if")
	default: // literals
	}
}

func (w *walk) variable(n *parse.VariableNode) {
	alone := len(n.Ident) == 1
	switch name := n.Ident[0]; {
	case name == "$" && alone:
		w.fault(n.Position(), CodeSyntax, "$ is the whole row", "name a column, as {{ .sku }}")
	case name == "$":
		w.column(n.Ident[1:], n.Position(), n, false)
	case w.holdsRow(name) && alone:
		w.fault(n.Position(), CodeSyntax, name+" is the whole row", "name a column, as {{ "+name+".sku }}")
	case w.holdsRow(name):
		w.column(n.Ident[1:], n.Position(), n, true)
	case !alone:
		w.fault(n.Position(), CodeSyntax, fmt.Sprintf("%s: a value has no fields", n), "")
	}
}

func (w *walk) column(path []string, at parse.Pos, n parse.Node, each bool) {
	switch {
	case len(path) > 1:
		w.fault(at, CodeSyntax, fmt.Sprintf("%s: a column has no fields", n), "")
	case w.t.rows && !each && path[0] == nameRows:
		w.fault(at, CodeRange, ".rows can stand after range only", "write {{ range .rows }}…{{ end }} for each row; .row_count is the number of rows")
	case w.t.rows && !each && path[0] == nameRowCount:
	default:
		w.t.refs = append(w.t.refs, ref{path[0], at, each})
	}
}

// rehearse renders sample rows, and takes every branch of the template. So a helper that gets a value of the wrong kind
// fails when the template is bound to columns, and not with the first row. That works because helpers fail only on the
// kind of a value, never on its content.
func (t *Template) rehearse(columns []row.Column, as *Bound) []Fault {
	flat := t.tree.Copy()
	flat.Root = flatten(flat.Root)
	b := &Bound{rows: t.rows, zone: as.zone, columns: as.columns, each: as.each}
	b.prepare(flat)
	nulls, typical := row.New(columns), row.New(columns)
	for i, c := range columns {
		typical.Values[i] = sample(c.Kind)
	}
	for _, r := range []*row.Row{typical, nulls} {
		if err := b.execute([]*row.Row{r}); err != nil {
			return []Fault{t.kindFault(err)}
		}
	}
	return nil
}

// sample returns a value of the kind that is neither zero nor empty.
func sample(k row.Kind) row.Value {
	switch k {
	case row.Null:
		return row.Value{}
	case row.Bool:
		return row.BoolOf(true)
	case row.Int:
		return row.IntOf(1)
	case row.Float:
		return row.FloatOf(1.5)
	case row.Decimal:
		return row.DecimalOf(15, 1)
	case row.Text:
		return row.TextOf("x")
	case row.Bytes:
		return row.BytesOf("x")
	case row.Time:
		return row.TimeOf(time.Unix(1, 0))
	case row.Date:
		return row.DateOf(time.Unix(1, 0))
	case row.Duration:
		return row.DurationOf(time.Second)
	default:
		return row.JSONOf("{}")
	}
}

// flatten puts the branches of every if one after the other, so that rendering takes all of them. The first branch of a
// with or a range keeps its place, because the dot has another meaning there.
func flatten(l *parse.ListNode) *parse.ListNode {
	if l == nil {
		return nil
	}
	out := &parse.ListNode{NodeType: l.NodeType, Pos: l.Pos}
	for _, n := range l.Nodes {
		switch n := n.(type) {
		case *parse.IfNode:
			out.Nodes = append(out.Nodes, &parse.ActionNode{NodeType: parse.NodeAction, Pos: n.Pos, Line: n.Line, Pipe: n.Pipe})
			out.Nodes = append(out.Nodes, branch(n.List)...)
			out.Nodes = append(out.Nodes, branch(n.ElseList)...)
		case *parse.WithNode:
			n.List = flatten(n.List)
			out.Nodes = append(out.Nodes, n)
			out.Nodes = append(out.Nodes, branch(n.ElseList)...)
		case *parse.RangeNode:
			n.List = flatten(n.List)
			out.Nodes = append(out.Nodes, n)
			out.Nodes = append(out.Nodes, branch(n.ElseList)...)
		case *parse.BreakNode, *parse.ContinueNode: // left out, so that rendering reaches the nodes after them
		default:
			out.Nodes = append(out.Nodes, n)
		}
	}
	return out
}

func branch(l *parse.ListNode) []parse.Node {
	if l == nil {
		return nil
	}
	return flatten(l).Nodes
}

var execError = regexp.MustCompile(`(?s)^template: ` + rootName + `:(\d+):(\d+): executing .*? at <.*?>: (.*)$`)

// cause returns the message of a failed rendering, without the words that package template adds.
func cause(err error) string {
	message := err.Error()
	if m := execError.FindStringSubmatch(message); m != nil {
		message = m[3]
	}
	if rest, ok := strings.CutPrefix(message, "error calling "); ok {
		if _, own, ok := strings.Cut(rest, ": "); ok {
			return own
		}
	}
	return message
}

func (t *Template) kindFault(err error) Fault {
	f := Fault{Code: CodeKind, Message: cause(err)}
	var exec template.ExecError
	if m := execError.FindStringSubmatch(err.Error()); m != nil && errors.As(err, &exec) {
		line, _ := strconv.Atoi(m[1]) // the pattern matches digits only
		col, _ := strconv.Atoi(m[2])
		f.Offset = t.chars(parse.Pos(lineStart(t.src, line) + col))
	}
	return f
}
