package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"go.yaml.in/yaml/v3"
)

// print writes v as -o says; for people, text does it.
func (c *command) print(v any, text func(w io.Writer)) error {
	switch c.output {
	case "json":
		enc := json.NewEncoder(c.Out)
		enc.SetEscapeHTML(false)
		enc.SetIndent("", "  ")
		return enc.Encode(v)
	case "yaml":
		return writeYAML(c.Out, v)
	default:
		text(c.Out)
		return nil
	}
}

// writeYAML goes through JSON, so that both have the same names and values.
func writeYAML(w io.Writer, v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	var n yaml.Node
	if err := yaml.Unmarshal(b, &n); err != nil { // JSON is YAML
		return err
	}
	plainStyle(&n)
	enc := yaml.NewEncoder(w)
	enc.SetIndent(2)
	if err := enc.Encode(&n); err != nil {
		return err
	}
	return enc.Close()
}

// plainStyle drops JSON's brackets and quotes where YAML needs none.
func plainStyle(n *yaml.Node) {
	n.Style = 0
	for _, c := range n.Content {
		plainStyle(c)
	}
	if len(n.Content) == 0 && (n.Kind == yaml.MappingNode || n.Kind == yaml.SequenceNode) {
		n.Style = yaml.FlowStyle
	}
}

// table writes rows below a header, in columns.
func table(w io.Writer, header []string, rows [][]string) {
	columns(w, append([][]string{header}, rows...))
}

// columns writes rows in columns.
func columns(w io.Writer, rows [][]string) {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, r := range rows {
		fmt.Fprintln(t, strings.Join(r, "\t"))
	}
	_ = t.Flush() // what it wraps is the program's output: if that is gone, nobody reads on
}

// count writes "1 rule", "2 rules".
func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
