// Command reference writes the tables of the documentation that come from the code: the operators and functions of conditions and the
// helpers of templates (docs/rule-reference.md), and the settings of sinks (docs/channels.md). It reads a page from standard input and writes it to
// standard output; what stands between the markers is replaced. It knows no text of its own: each package declares what the tables say.
package main

import (
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"

	"tallyman/rules/condition"
	"tallyman/rules/message"
)

func main() {
	page, err := io.ReadAll(os.Stdin)
	if err == nil {
		_, err = io.WriteString(os.Stdout, write(string(page)))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1) //nolint:forbidigo // a command of its own, for make generate
	}
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
	"sinks":      sinkSettings,
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
