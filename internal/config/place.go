package config

import (
	"cmp"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"tallyman/rules/problem"
	"tallyman/rules/strictyaml"
)

// path leads to a value: sources, wms, url. An element of a list is its index.
type path []string

func (p path) to(name string) path { return append(slices.Clone(p), name) }

// String is the path as people write it.
func (p path) String() string { return strings.Join(p, ".") }

// at makes a problem that stands at the value, or at its name: where that is asked for, or where the value is more
// than a line. A value that is not there has the place of what should hold it.
func (l *layers) at(p path, name bool, code, message, hint string) problem.Problem {
	if over := l.setBy(p); over != "" {
		return problem.Problem{File: over, Code: code, Message: message, Hint: hint}
	}
	n, key := l.file.Root, (*strictyaml.Node)(nil)
	for _, s := range p {
		if f := n.Field(s); f != nil {
			n, key = f.Value, f.Key
			continue
		}
		i, err := strconv.Atoi(s)
		if n.Kind != strictyaml.Sequence || err != nil || i >= len(n.Items) {
			break // what is missing is reported at what should have it
		}
		n, key = n.Items[i], n.Items[i]
	}
	switch {
	case key == nil:
		return problem.Problem{File: l.file.Name, Code: code, Message: message, Hint: hint}
	case name || n.Kind != strictyaml.Scalar:
		return l.file.Problem(key, code, message, hint)
	default:
		return l.file.Problem(n, code, message, hint)
	}
}

// setBy names the variable or flag that set the value, or one below it where the file has nothing of that name. It is
// empty where the file is to blame.
func (l *layers) setBy(p path) string {
	for i := len(p); i > 0; i-- {
		if over, ok := l.over[strings.Join(p[:i], separator)]; ok {
			return over
		}
	}
	n := l.file.Root
	for _, s := range p {
		f := n.Field(s)
		if f == nil {
			return l.setBelow(p)
		}
		n = f.Value
	}
	return ""
}

// setBelow names the first variable or flag that set a value below the path.
func (l *layers) setBelow(p path) string {
	var found []string
	for at, over := range l.over {
		if strings.HasPrefix(at, strings.Join(p, separator)+separator) {
			found = append(found, over)
		}
	}
	if len(found) == 0 {
		return ""
	}
	return slices.Min(found)
}

// secretNames are the fields whose values are secrets, or may hold one.
var secretNames = []string{"url", "secret", "password", "headers"}

// addressName is a field that is shown unless somebody has put credentials into it.
const addressName = "endpoint"

// secretLines finds the lines of the file with secrets, whatever else is wrong with them. A reference is none, nor is the address
// of a database without a password.
func secretLines(root *strictyaml.Node) map[int]bool {
	lines := map[int]bool{}
	var walk func(n *strictyaml.Node, sink, secret bool)
	walk = func(n *strictyaml.Node, sink, secret bool) {
		reference := strings.HasPrefix(n.Text, "file:") || strings.Contains(n.Text, "${")
		if secret && n.Kind == strictyaml.Scalar && !reference && (sink || strings.Contains(n.Text, "@")) {
			lines[n.Line] = true
		}
		for _, item := range n.Items {
			walk(item, sink, secret)
		}
		for _, f := range n.Fields {
			walk(f.Value, sink && f.Name != addressName, secret || f.Name == addressName || slices.Contains(secretNames, f.Name))
		}
	}
	for _, f := range root.Fields {
		walk(f.Value, f.Name == "sinks" || f.Name == "telemetry", false)
	}
	return lines
}

// mayBeSecret finds in a file that cannot be read what looks like a secret.
var mayBeSecret = regexp.MustCompile(`(?i)url|secret|passw|token|auth|bearer|header|key|whsec_|://|@`)

// withoutSecrets are problems of a file that cannot be read, without the lines that may show one.
func withoutSecrets(list problem.List) problem.List {
	for i := range list {
		if mayBeSecret.MatchString(list[i].Snippet) {
			list[i].Snippet, list[i].Caret = "", 0
		}
	}
	return list
}

// sorted orders the problems as a reader goes through the file. Lines with secrets are not shown.
func (d *decoder) sorted() problem.List {
	for i, p := range d.problems {
		if d.hidden[p.Line] && p.File == d.file.Name {
			d.problems[i].Snippet = ""
		}
	}
	slices.SortStableFunc(d.problems, func(a, b problem.Problem) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Col, b.Col))
	})
	return d.problems
}
