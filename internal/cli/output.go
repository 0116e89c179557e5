package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	policy "tallyman/internal/text"
)

// print writes v as -o says; for people, text does it.
func (c *command) print(v any, text func(w io.Writer)) error {
	switch c.output {
	case "json":
		return writeJSON(c.Out, v)
	case "yaml":
		return writeYAML(c.Out, v)
	default:
		shown := policy.NewWriter(c.Out)
		text(shown)
		_ = shown.Flush() // as all output: if that is gone, nobody reads on
		return nil
	}
}

// writeJSON writes the value as it is; what no text may have stands as an escape.
func writeJSON(w io.Writer, v any) error {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(v); err != nil {
		return err
	}
	_, err := w.Write(policy.EscapeJSON(bytes.ToValidUTF8(b.Bytes(), []byte("\uFFFD"))))
	return err
}

// table writes rows below a header, in columns.
func table(w io.Writer, header []string, rows [][]string) {
	columns(w, append([][]string{header}, rows...))
}

// columns writes rows in columns.
func columns(w io.Writer, rows [][]string) {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, r := range rows {
		cells := make([]string, len(r))
		for i, cell := range r {
			cells[i] = oneLine(cell)
		}
		fmt.Fprintln(t, strings.Join(cells, "\t"))
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
