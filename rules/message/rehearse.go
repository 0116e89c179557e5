package message

import (
	"errors"
	"regexp"
	"strconv"
	"strings"
	"text/template"
	"text/template/parse"
	"time"

	"tallyman/rules/row"
)

// rehearse renders sample rows with every branch taken, so that a helper that gets a value of the wrong kind is found at
// load and not with the first row that comes to it. Helpers fail on kinds only, never on contents.
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

// sample is a value of the kind that is neither zero nor empty.
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

// flatten puts the branches of every if one after the other. A with keeps its own, for the dot's sake.
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
		case *parse.BreakNode, *parse.ContinueNode: // of a branch, so that what follows is reached
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

// cause is what a failed rendering says, without the template package's frame.
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
		line, _ := strconv.Atoi(m[1]) // digits, as matched
		col, _ := strconv.Atoi(m[2])
		f.Offset = t.chars(parse.Pos(lineStart(t.src, line) + col))
	}
	return f
}
