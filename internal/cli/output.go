package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"tallyman/internal/authoring"
	"tallyman/internal/cli/terminal"
	"tallyman/internal/text"
	"tallyman/rules/strictyaml"
)

// print writes v in the format of -o. For people, write prints the text.
func (c *command) print(v any, write func(w io.Writer)) error {
	switch c.output {
	case "json":
		return writeJSON(c.Out, v)
	case "yaml":
		return writeYAML(c.Out, v)
	default:
		shown := text.NewWriter(c.Out)
		write(shown)
		_ = shown.Flush() // After an error the reader is gone. Text output ignores such errors.
		return nil
	}
}

// writeJSON writes the value as JSON, with escapes for characters that the policy of texts refuses.
func writeJSON(w io.Writer, v any) error {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(v); err != nil {
		return err
	}
	_, err := w.Write(text.EscapeJSON(bytes.ToValidUTF8(b.Bytes(), []byte("\uFFFD"))))
	return err
}

// count writes "1 rule", "2 rules", "2 deliveries".
func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	if stem, ok := strings.CutSuffix(what, "y"); ok {
		what = stem + "ie"
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// width returns the number of columns of a line.
func (c *command) width() int { return terminal.Width(c.Out, c.getenv("COLUMNS")) }

// stamp writes a time in UTC, as lists and pages show times.
func stamp(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05Z") }

// at formats a time. For a future time it adds the duration from now.
func at(t *time.Time, now time.Time) string {
	switch {
	case t == nil:
		return ""
	case t.After(now):
		return stamp(*t) + " (in " + until(*t, now) + ")"
	}
	return stamp(*t)
}

// until formats the duration from now to the time.
func until(t, now time.Time) string {
	return lasting(int64(t.Sub(now).Round(time.Second) / time.Second))
}

// lasting formats seconds with at most two units, such as 2h5m.
func lasting(seconds int64) string {
	d := time.Duration(seconds) * time.Second
	days := d / (24 * time.Hour)
	if days == 0 {
		if d >= time.Hour {
			d = d.Truncate(time.Minute)
		}
		return strictyaml.FormatDuration(d)
	}
	text := strconv.FormatInt(int64(days), 10) + "d"
	if hours := (d % (24 * time.Hour)).Truncate(time.Hour); hours > 0 {
		text += strictyaml.FormatDuration(hours)
	}
	return text
}

// when is stamp for a time that may be nil.
func when(t *time.Time) string {
	if t == nil {
		return terminal.Nothing
	}
	return stamp(*t)
}

// orDash returns the text, or the mark of an empty cell.
func orDash(s string) string {
	if s == "" {
		return terminal.Nothing
	}
	return s
}

// within returns " in SCOPE", or nothing without a scope.
func within(scope string) string {
	if scope == "" {
		return ""
	}
	return " in " + scope
}

// titled returns ": TITLE", or nothing without a title.
func titled(title string) string {
	if title == "" {
		return ""
	}
	return ": " + title
}

// section writes names and values. The names take the given number of columns. A name without a value is left out.
func section(w io.Writer, columns int, lines [][2]string) {
	for _, l := range lines {
		if l[1] != "" {
			fmt.Fprintf(w, "  %-*s  %s\n", columns, l[0], l[1])
		}
	}
}

// writeYAML converts the value to JSON first, so that both formats have the same names and values. writeYAML reads the
// tokens of the JSON, and not its text as YAML: YAML readers fail at raw control characters and at escapes of surrogate
// pairs.
func writeYAML(w io.Writer, v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	dec := json.NewDecoder(bytes.NewReader(b))
	dec.UseNumber()
	n, err := yamlValue(dec)
	if err != nil {
		return err
	}
	var out bytes.Buffer
	enc := yaml.NewEncoder(&out)
	enc.SetIndent(2)
	if err := enc.Encode(n); err != nil {
		return err
	}
	if err := enc.Close(); err != nil {
		return err
	}
	// The encoder prints some characters that the policy of texts refuses. Such texts are in double quotes already, so
	// escapes are valid there.
	_, err = w.Write(text.EscapeJSON(out.Bytes()))
	return err
}

// yamlValue reads the next value.
func yamlValue(dec *json.Decoder) (*yaml.Node, error) {
	token, err := dec.Token()
	if err != nil {
		return nil, err
	}
	switch t := token.(type) {
	case json.Delim:
		return yamlList(dec, t)
	case string:
		return yamlText(t), nil
	case json.Number:
		return &yaml.Node{Kind: yaml.ScalarNode, Value: t.String()}, nil
	case bool:
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!bool", Value: fmt.Sprint(t)}, nil
	case nil:
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!null", Value: "null"}, nil
	}
	return nil, errors.New("the text is not valid JSON")
}

// yamlList reads a list or a map after its opening bracket. An empty list or map keeps its brackets.
func yamlList(dec *json.Decoder, bracket json.Delim) (*yaml.Node, error) {
	n := &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq"}
	if bracket == '{' {
		n.Kind, n.Tag = yaml.MappingNode, "!!map"
	}
	for dec.More() {
		item, err := yamlValue(dec)
		if err != nil {
			return nil, err
		}
		n.Content = append(n.Content, item)
	}
	if len(n.Content) == 0 {
		n.Style = yaml.FlowStyle
	}
	_, err := dec.Token()
	return n, err
}

// oldYAML matches texts that YAML 1.1 does not read as texts: booleans, numbers of base 60, and the value =.
var oldYAML = regexp.MustCompile(`^(?i:y|n|yes|no|on|off|=|[-+]?[0-9][0-9_]*(:[0-5]?[0-9])+(\.[0-9_]*)?)$`)

// yamlText returns a text as a YAML node. yamlText uses double quotes for three kinds of texts: texts with characters
// that the policy of texts refuses, texts with line breaks of YAML, and texts that match oldYAML.
func yamlText(s string) *yaml.Node {
	n := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: s}
	if oldYAML.MatchString(s) || text.Check(s, text.Lines) != nil || strings.ContainsAny(s, "\r\t\u2028\u2029\ufeff\ufffe\uffff") {
		n.Style = yaml.DoubleQuotedStyle
	}
	return n
}

// shortPath returns the path relative to the working folder, if the file is below this folder.
func shortPath(path string) string {
	here, err := os.Getwd()
	if err != nil {
		return path
	}
	short, err := filepath.Rel(here, path)
	if err != nil || !filepath.IsLocal(short) {
		return path
	}
	return short
}

// writeFile writes a new file and its folder. Without force, an existing file is an error.
func writeFile(f authoring.NewFile, force bool) error {
	if err := os.MkdirAll(filepath.Dir(f.Path), 0o755); err != nil { //nolint:gosec // rule files are no secrets
		return err
	}
	how := os.O_WRONLY | os.O_CREATE | os.O_EXCL
	if force {
		how = os.O_WRONLY | os.O_CREATE | os.O_TRUNC
	}
	file, err := os.OpenFile(f.Path, how, 0o644) //nolint:gosec // as above
	if errors.Is(err, os.ErrExist) {
		return usage("%s is there already; --force replaces it", shortPath(f.Path))
	}
	if err != nil {
		return err
	}
	_, err = file.Write(f.Text)
	return errors.Join(err, file.Close())
}
