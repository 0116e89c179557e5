package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"

	"tallyman/internal/cli/terminal"
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

// count writes "1 rule", "2 rules".
func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// width is how many columns a line may have.
func (c *command) width() int { return terminal.Width(c.Out, c.getenv("COLUMNS")) }
