package config

import (
	"cmp"
	"regexp"
	"slices"
	"strings"

	"tallyman/rules/problem"
	"tallyman/rules/strictyaml"
)

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
func (l *loader) sorted(list problem.List) problem.List {
	hidden := secretLines(l.file.Root)
	for i, p := range list {
		if hidden[p.Line] && p.File == l.file.Name {
			list[i].Snippet = ""
		}
	}
	slices.SortStableFunc(list, func(a, b problem.Problem) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Col, b.Col))
	})
	return list
}
