package strictyaml

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Kind is the shape of a node.
type Kind uint8

// The kinds.
const (
	Scalar Kind = iota + 1
	Mapping
	Sequence
)

// Node is one value of a file, with aliases and merge keys resolved. The aliases of an anchor and merged trees share
// nodes, so nobody may change a node after Parse.
type Node struct {
	Kind      Kind
	Tag       string // For a scalar: !!str, !!int, !!float, !!bool, !!null or !!timestamp.
	Text      string // For a scalar: the decoded text.
	Line, Col int    // Both count from 1. Col counts characters.
	Fields    []Field
	Items     []*Node

	// Path and Origin are set in a tree that Overlay made. Path leads to the value, with / between the names. Origin
	// names the variable or flag that set the value or made the entry. It is empty for a value of the file.
	Path, Origin string

	style  yaml.Style
	faults []pendingProblem // Faults that Parse found here. Decode reports them.
	weight int              // The number of nodes in this tree, with aliases expanded.
}

// Tree converts the node: mappings to maps, sequences to lists, and scalars to the results of leaf.
func (n *Node) Tree(leaf func(*Node) any) any {
	switch n.Kind {
	case Mapping:
		m := make(map[string]any, len(n.Fields))
		for _, f := range n.Fields {
			m[f.Name] = f.Value.Tree(leaf)
		}
		return m
	case Sequence:
		l := make([]any, len(n.Items))
		for i, item := range n.Items {
			l[i] = item.Tree(leaf)
		}
		return l
	default:
		return leaf(n)
	}
}

// pendingProblem is a problem that waits for Decode.
type pendingProblem struct {
	at                  *Node
	code, message, hint string
}

// Field is one entry of a mapping.
type Field struct {
	Name  string
	Key   *Node
	Value *Node
}

// Get returns the value at the path of field names, or nil.
func (n *Node) Get(path ...string) *Node {
	for _, name := range path {
		f := n.Field(name)
		if f == nil {
			return nil
		}
		n = f.Value
	}
	return n
}

// Field returns the entry with that name, or nil.
func (n *Node) Field(name string) *Field {
	if n == nil {
		return nil
	}
	for i := range n.Fields {
		if n.Fields[i].Name == name {
			return &n.Fields[i]
		}
	}
	return nil
}

// IsNull tells whether the scalar is null: written so, or left empty.
func (n *Node) IsNull() bool { return n.Kind == Scalar && n.Tag == "!!null" }

// describe names the value for a message such as "takes a text, found a list".
func (n *Node) describe() string {
	switch {
	case n.Kind == Mapping:
		return "a map"
	case n.Kind == Sequence:
		return "a list"
	case n.IsNull():
		return "nothing"
	case n.Tag == "!!int", n.Tag == "!!float":
		return "the number " + clip(n.Text)
	case n.Tag == "!!bool":
		return clip(n.Text)
	default:
		return fmt.Sprintf("the text %q", clip(n.Text))
	}
}

// clip shortens a text for a message.
func clip(s string) string {
	const most = 40
	if r := []rune(s); len(r) > most {
		return string(r[:most]) + "…"
	}
	return s
}

// Merge lays the tree `over` on the tree `base`. Mappings merge; any other value of over replaces the value of base.
// All values keep their places in the file.
func Merge(base, over *Node) *Node {
	if base == nil {
		return over
	}
	if over == nil {
		return base
	}
	if base.Kind != Mapping || over.Kind != Mapping {
		return over
	}
	m := *over
	m.faults = append(append([]pendingProblem{}, base.faults...), over.faults...)
	m.Fields = append([]Field{}, base.Fields...)
	at := make(map[string]int, len(base.Fields))
	for i, f := range base.Fields {
		at[f.Name] = i
	}
	for _, f := range over.Fields {
		if i, have := at[f.Name]; have {
			m.Fields[i] = Field{Name: f.Name, Key: f.Key, Value: Merge(base.Fields[i].Value, f.Value)}
		} else {
			m.Fields = append(m.Fields, f)
		}
	}
	return &m
}

// Under wraps a node in maps, so that it can be merged deep into a tree: Under(n, "probe", "params") is
// {probe: {params: n}}.
func Under(n *Node, path ...string) *Node {
	for _, name := range slices.Backward(path) {
		key := &Node{Kind: Scalar, Tag: "!!str", Text: name, Line: n.Line, Col: n.Col}
		n = &Node{Kind: Mapping, Line: n.Line, Col: n.Col, Fields: []Field{{Name: name, Key: key, Value: n}}}
	}
	return n
}

// Without returns the mapping without the named fields.
func (n *Node) Without(names ...string) *Node {
	m := *n
	m.Fields = nil
next:
	for _, f := range n.Fields {
		for _, name := range names {
			if f.Name == name {
				continue next
			}
		}
		m.Fields = append(m.Fields, f)
	}
	return &m
}

// Walk finds the node at a path such as "notice.title.en" or "deliver[0].sink". Where the tree does not have the whole
// path, found is nil. last is the key of the last field that exists, or the last item. A problem about the missing
// value belongs there.
func (n *Node) Walk(path string) (found, last *Node) {
	last = n
	for _, name := range strings.FieldsFunc(path, func(r rune) bool { return strings.ContainsRune(".[]", r) }) {
		if n == nil {
			return nil, last
		}
		if n.Kind == Sequence {
			i, err := strconv.Atoi(name)
			if err != nil || i < 0 || i >= len(n.Items) {
				return nil, last
			}
			n = n.Items[i]
			last = n
			continue
		}
		f := n.Field(name)
		if f == nil {
			return nil, last
		}
		n, last = f.Value, f.Key
	}
	return n, last
}
