package cli

import (
	"fmt"
	"io"
	"strings"

	"tallyman/internal/authoring"
	"tallyman/internal/cli/terminal"
)

// writeExplained writes what a rule comes to, for people.
func writeExplained(w io.Writer, e authoring.Explained) {
	name := e.Rule
	if e.Scope != "" {
		name += " in " + e.Scope
	}
	fmt.Fprintf(w, "%s (%s, source %s)\n", name, shortPath(e.File), e.Source)
	writeColumns(w, e)
	if len(e.Params) > 0 {
		fmt.Fprintln(w, "  parameters")
		rows := make([][]string, len(e.Params))
		for i, p := range e.Params {
			rows[i] = []string{"    :" + p.Name, paramText(p)}
		}
		terminal.Columns(w, rows)
	}
	fmt.Fprintln(w, "  next due")
	for _, at := range e.Next {
		fmt.Fprintf(w, "    %s\n", at.Format("Mon 2006-01-02 15:04:05 -07:00"))
	}
	fmt.Fprintln(w, "  in force")
	rows := make([][]string, len(e.Fields))
	for i, f := range e.Fields {
		rows[i] = []string{"    " + f.Name, strings.ReplaceAll(f.Value, "\n", " ")}
	}
	terminal.Columns(w, rows)
	fmt.Fprintln(w)
}

func writeColumns(w io.Writer, e authoring.Explained) {
	if e.Unverified != "" {
		fmt.Fprintf(w, "  unverified: %s\n", e.Unverified)
	}
	if len(e.Columns) == 0 {
		return
	}
	fmt.Fprintln(w, "  columns")
	rows := [][]string{{"    NAME", "KIND", "DATABASE TYPE", "NULL", "READ BY"}}
	for _, c := range e.Columns {
		null, uses := "no", strings.Join(c.Uses, ", ")
		if c.Nullable {
			null = "yes"
		}
		if uses == "" && e.Unverified == "" {
			uses = "nothing"
		}
		rows = append(rows, []string{"    " + c.Name, c.Kind, c.DatabaseType, null, uses})
	}
	terminal.Columns(w, rows)
	if e.Cost != nil {
		fmt.Fprintf(w, "  cost by the database's plan: %.6g\n", *e.Cost)
		for step := range strings.Lines(e.Plan) {
			fmt.Fprintf(w, "    %s\n", strings.TrimRight(step, "\n"))
		}
	}
}

func paramText(p authoring.ExplainedParam) string {
	switch {
	case p.Value == nil && p.From != "":
		return p.From
	case p.Value == nil:
		return "null"
	}
	value := fmt.Sprint(p.Value)
	if s, ok := p.Value.(string); ok {
		value = fmt.Sprintf("%q", s)
	}
	if p.From != "" {
		value += ", " + p.From
	}
	return value
}
