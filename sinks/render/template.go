package render

import (
	"bytes"
	"encoding/json"
	"fmt"
	htmltemplate "html/template"
	"io"
	"os"
	"reflect"
	"strings"
	texttemplate "text/template"
	"text/template/parse"
	"time"
	"unicode/utf8"

	"tallyman/internal/text"
)

// The size limits, in bytes, of a template and of the text that it makes.
const (
	maxTemplate = 256 << 10
	maxRendered = 1 << 20
)

// Kind says what kind of text a template makes.
type Kind string

// The kinds.
const (
	Text Kind = "text"
	HTML Kind = "html" // values are escaped for their place
)

// Template makes a text from a view. Template has the built-in functions of Go's templates, and some of its own. `in`
// converts a time to a zone: in "Asia/Shanghai" .CreatedAt. Text templates also have `json`, which encodes a value as
// JSON, and `join`, which makes one text of a list: join "," .Addresses.
type Template struct {
	parsed interface {
		Execute(w io.Writer, data any) error
	}
	isJSON bool
}

// Load reads a template from a file, and runs it on a sample, so that a mistake shows at the start.
func Load(kind Kind, file string) (*Template, error) {
	words, err := read(file)
	if err != nil {
		return nil, err
	}
	return Parse(kind, file, words)
}

// Parse makes a template of words, and runs it on a sample. Errors show the name.
func Parse(kind Kind, name, words string) (*Template, error) {
	t, err := New(kind, name, words)
	if err != nil {
		return nil, err
	}
	if err := t.Try(Sample()); err != nil {
		return nil, err
	}
	return t, nil
}

// New makes a template of words. Errors show the name.
func New(kind Kind, name, words string) (*Template, error) {
	if kind == HTML {
		parsed, err := htmltemplate.New(name).Option("missingkey=error").Funcs(htmltemplate.FuncMap{"in": inZone}).Parse(words)
		return &Template{parsed: parsed}, err
	}
	funcs := texttemplate.FuncMap{"in": inZone, jsonFunction: asJSON, "join": join}
	parsed, err := texttemplate.New(name).Option("missingkey=error").Funcs(funcs).Parse(words)
	if err != nil {
		return nil, err
	}
	return &Template{parsed: parsed, isJSON: isJSON(parsed.Root)}, nil
}

// Try runs the template on a sample.
func (t *Template) Try(sample any) error {
	if _, err := t.Execute(sample); err != nil {
		return fmt.Errorf("tried on a sample: %w; docs/how-to/channels.md lists all names that a template may use", err)
	}
	return nil
}

// IsJSON tells whether the template is only {{ json … }}, so that its text is a JSON value.
func (t *Template) IsJSON() bool { return t.isJSON }

func isJSON(root *parse.ListNode) bool {
	if len(root.Nodes) != 1 {
		return false
	}
	action, ok := root.Nodes[0].(*parse.ActionNode)
	if !ok || len(action.Pipe.Decl) > 0 {
		return false
	}
	last, ok := action.Pipe.Cmds[len(action.Pipe.Cmds)-1].Args[0].(*parse.IdentifierNode)
	return ok && last.Ident == jsonFunction
}

// Execute makes the text. Control characters become visible marks. A text of more than maxRendered bytes is an error.
func (t *Template) Execute(v any) (string, error) {
	var b bytes.Buffer
	if err := t.parsed.Execute(&limitedWriter{w: &b, left: maxRendered}, v); err != nil {
		return "", err
	}
	return text.Visible(b.String()), nil
}

func read(file string) (string, error) {
	f, err := os.Open(file)
	if err != nil {
		return "", err
	}
	defer func() { _ = f.Close() }()
	b, err := io.ReadAll(io.LimitReader(f, maxTemplate+1))
	if err != nil {
		return "", err
	}
	if len(b) > maxTemplate {
		return "", fmt.Errorf("%s has more than %d bytes", file, maxTemplate)
	}
	if fault := text.Check(string(b), text.Lines); fault != nil {
		line := 1 + bytes.Count(b[:fault.Offset], []byte("\n"))
		return "", fmt.Errorf("%s:%d: %s: it has %s in this line; no text may have this character", file, line, text.Code, fault.Name)
	}
	return string(b), nil
}

// inZone is the function `in`.
func inZone(zone string, t time.Time) (time.Time, error) {
	l, err := time.LoadLocation(zone)
	if err != nil {
		return t, err
	}
	return t.In(l), nil
}

const jsonFunction = "json"

// join is the function `join`.
func join(between string, list []string) string { return strings.Join(list, between) }

// asJSON is the function `json`. asJSON encodes a nil list as [], because services that expect a list refuse null.
func asJSON(v any) (string, error) {
	if list := reflect.ValueOf(v); list.Kind() == reflect.Slice && list.IsNil() {
		return "[]", nil
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return "", err
	}
	return string(bytes.TrimSuffix(b.Bytes(), []byte("\n"))), nil
}

// limitedWriter is a writer that fails once it has no room left.
type limitedWriter struct {
	w    io.Writer
	left int
}

// Write fails if there is no room for p.
func (l *limitedWriter) Write(p []byte) (int, error) {
	if l.left -= len(p); l.left < 0 {
		return 0, fmt.Errorf("more than %d bytes", maxRendered)
	}
	return l.w.Write(p)
}

// OneLine turns a text into one line. White space becomes single spaces, and characters that no text may have become
// visible marks. A value in a header can therefore not begin another header.
func OneLine(s string) string { return strings.Join(strings.Fields(text.Visible(s)), " ") }

// Lines is OneLine for a text of several lines: it keeps the line breaks.
func Lines(s string) string { return text.Visible(s) }

// Shorten cuts a text to n characters.
func Shorten(s string, n int) string {
	if utf8.RuneCountInString(s) <= n {
		return s
	}
	return string([]rune(s)[:n-1]) + more
}

// ShortenBytes cuts a text to n bytes, but never inside a character.
func ShortenBytes(s string, n int) string {
	switch {
	case len(s) <= n:
		return s
	case n < len(more):
		return ""
	}
	cut := n - len(more)
	for cut > 0 && !utf8.RuneStart(s[cut]) {
		cut--
	}
	return s[:cut] + more
}

// more stands in the place of the cut-off end.
const more = "…"
