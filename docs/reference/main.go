// Command reference writes what the documentation has from the code. It knows no text of its own but the heads of pages: each package
// declares what the tables say.
//
// With "release" and a folder as its arguments it writes the man pages and the completions of a release there.
//
// With a folder as its argument it writes the pages of this folder there: configuration.md, cli.md, metrics.md and logs.md. Without one it reads a
// page from standard input and writes the page to standard output, with what stands between its markers replaced: the operators and functions
// of conditions and the helpers of templates (docs/reference/rule-file.md), and the settings of sinks (docs/how-to/channels.md).
package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"
	"unicode/utf8"

	"tallyman/internal/cli"
	"tallyman/rules/condition"
	"tallyman/rules/message"
	"tallyman/rules/row"
)

func main() {
	if err := run(os.Args[1:], os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1) //nolint:forbidigo // a command of its own, for make generate
	}
}

func run(args []string, in io.Reader, out io.Writer) error {
	if len(args) == 0 {
		page, err := io.ReadAll(in)
		if err == nil {
			_, err = io.WriteString(out, write(string(page)))
		}
		return err
	}
	if len(args) == 2 && args[0] == "release" {
		return writeRelease(args[1])
	}
	for name, text := range pages {
		page, err := text()
		if err == nil {
			err = os.WriteFile(filepath.Join(args[0], name), []byte(wrapped(page)), 0o644) //nolint:gosec // a page for everybody
		}
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

// pages are those that come from the code as a whole.
var pages = map[string]func() (string, error){
	"configuration.md": configurationPage,
	"cli.md":           func() (string, error) { return cli.Reference(), nil },
	"metrics.md":       metricsPage,
	"logs.md":          logsPage,
}

// mostWidth is how many characters a line of prose has at most.
const mostWidth = 120

// wrapped breaks the lines of prose that are too long. Tables, code and headings stay as they are.
func wrapped(page string) string {
	var b strings.Builder
	fenced := false
	for line := range strings.Lines(page) {
		text := strings.TrimSuffix(line, "\n")
		if strings.HasPrefix(text, "```") {
			fenced = !fenced
		}
		if fenced || utf8.RuneCountInString(text) <= mostWidth || strings.HasPrefix(text, "|") || strings.HasPrefix(text, "#") {
			b.WriteString(line)
			continue
		}
		indent := ""
		if strings.HasPrefix(text, "- ") || strings.HasPrefix(text, "  ") {
			indent = "  "
		}
		width := 0
		for i, word := range strings.Split(text, " ") {
			n := utf8.RuneCountInString(word)
			switch {
			case i == 0:
			case width+1+n > mostWidth:
				b.WriteString("\n" + indent)
				width = len(indent)
			default:
				b.WriteString(" ")
				width++
			}
			b.WriteString(word)
			width += n
		}
		b.WriteString("\n")
	}
	return b.String()
}

var section = regexp.MustCompile(`(?s)(<!-- generated: (\w+) -->\n).*?(<!-- end -->)`)

// write replaces the sections of the page.
func write(page string) string {
	return section.ReplaceAllStringFunc(page, func(s string) string {
		m := section.FindStringSubmatch(s)
		return m[1] + "\n" + sections[m[2]]() + "\n" + m[3]
	})
}

var sections = map[string]func() string{
	"row":        exampleTable,
	"rows":       exampleRowsTable,
	"precedence": precedence,
	"functions":  functions,
	"helpers":    helpers,
	"sinks":      func() string { return sinkTables("", false) },
}

// table writes a table of Markdown.
func table(heading []string, rows [][]string) string {
	var b strings.Builder
	line := func(cells []string) {
		for _, c := range cells {
			b.WriteString("| " + strings.ReplaceAll(c, "|", `\|`) + " ")
		}
		b.WriteString("|\n")
	}
	line(heading)
	rule := make([]string, len(heading))
	for i := range rule {
		rule[i] = "---"
	}
	line(rule)
	for _, r := range rows {
		line(r)
	}
	return b.String()
}

func code(s string) string {
	if s == "" {
		return ""
	}
	return "`" + s + "`"
}

func functions() string {
	var b strings.Builder
	for i, c := range condition.Reference() {
		if i > 0 {
			b.WriteString("\n")
		}
		var rows [][]string
		for _, e := range c.Entries {
			rows = append(rows, []string{code(e.Signature), e.Meaning, code(e.Example), code(e.Gives)})
		}
		b.WriteString("#### " + c.Title + "\n\n" + table([]string{"written", "meaning", "example", "gives"}, rows))
	}
	return b.String()
}

func helpers() string {
	var rows [][]string
	for _, h := range message.Reference() {
		rows = append(rows, []string{code(h.Name), h.Meaning, code(h.Example), code(h.Gives)})
	}
	return table([]string{"helper", "meaning", "example", "gives"}, rows)
}

func precedence() string {
	var levels []string
	for _, group := range condition.Precedence() {
		for i, name := range group {
			group[i] = code(name)
		}
		levels = append(levels, strings.Join(group, " "))
	}
	return strings.Join(levels, " < ") + "\n"
}

func exampleTable() string {
	r := exampleRow()
	var rows [][]string
	for i, c := range r.Columns {
		value := "NULL"
		if !r.Values[i].IsNull() {
			value = code(r.Values[i].String())
		}
		rows = append(rows, []string{code(c.Name), c.Kind.String(), value})
	}
	return table([]string{"column", "kind", "value"}, rows)
}

func exampleRowsTable() string {
	var heading []string
	var rows [][]string
	for _, r := range exampleRows() {
		heading = nil
		var cells []string
		for i, c := range r.Columns {
			heading = append(heading, code(c.Name)+" "+c.Kind.String())
			cells = append(cells, code(r.Values[i].String()))
		}
		rows = append(rows, cells)
	}
	return table(heading, rows)
}

// exampleNow is what now() returns in the examples.
func exampleNow() time.Time { return time.Date(2026, 6, 1, 8, 0, 0, 0, time.UTC) }

// exampleRow is the row that the examples are over.
func exampleRow() *row.Row {
	return &row.Row{
		Columns: []row.Column{
			{Name: "sku", Kind: row.Text},
			{Name: "zone", Kind: row.Text},
			{Name: "qty", Kind: row.Decimal},
			{Name: "price", Kind: row.Decimal},
			{Name: "lines", Kind: row.Int},
			{Name: "ratio", Kind: row.Float},
			{Name: "held", Kind: row.Bool},
			{Name: "wave_no", Kind: row.Int},
			{Name: "released_at", Kind: row.Time},
			{Name: "doc", Kind: row.JSON},
		},
		Values: []row.Value{
			row.TextOf("TEST-42"), row.TextOf("A"), row.DecimalOf(-350, 2), row.DecimalOf(1990, 2),
			row.IntOf(4), row.FloatOf(0.25), row.BoolOf(false),
			{},
			row.TimeOf(time.Date(2026, 5, 30, 22, 15, 0, 0, time.UTC)), row.JSONOf(`{"wave": 77, "lines": [{"sku": "A"}]}`),
		},
	}
}

// exampleRows is the result that the examples with rows are over.
func exampleRows() []*row.Row {
	columns := []row.Column{{Name: "sku", Kind: row.Text}, {Name: "qty", Kind: row.Decimal}}
	var rows []*row.Row
	for _, r := range []struct {
		sku        string
		hundredths int64
	}{{"A", 150}, {"B", -300}, {"A", 700}} {
		rows = append(rows, &row.Row{Columns: columns, Values: []row.Value{row.TextOf(r.sku), row.DecimalOf(r.hundredths, 2)}})
	}
	return rows
}
