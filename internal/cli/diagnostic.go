package cli

import (
	"fmt"
	"io"
	"strings"

	"tallyman/rules/problem"
)

// diagnostic is a problem as editors read it. Lines and columns count from 1, columns in characters; without a line it is about
// the file as a whole.
type diagnostic struct {
	File      string `json:"file"`
	Line      int    `json:"line"`
	Column    int    `json:"column"`
	EndColumn int    `json:"endColumn,omitempty"` // behind the last character, where known
	Severity  string `json:"severity"`            // error or warning
	Code      string `json:"code"`
	Message   string `json:"message"`
	Hint      string `json:"hint,omitempty"`
	Rule      string `json:"rule,omitempty"`
}

// The severities. A warning is something that could not be checked.
const (
	severityError   = "error"
	severityWarning = "warning"
)

// diagnostics is a list, not null, in JSON.
func diagnostics(problems, warnings problem.List) []diagnostic {
	list := []diagnostic{}
	add := func(severity string, found problem.List) {
		for _, p := range found {
			list = append(list, diagnostic{
				File: p.File, Line: p.Line, Column: p.Col, EndColumn: p.End(), Severity: severity,
				Code: p.Code, Message: p.Message, Hint: p.Hint, Rule: p.Rule,
			})
		}
	}
	add(severityError, problems)
	add(severityWarning, warnings)
	return list
}

func printWarnings(w io.Writer, list problem.List) {
	for _, p := range list {
		fmt.Fprintln(w, strings.Replace(p.String(), ": "+p.Code+": ", ": warning: "+p.Code+": ", 1))
	}
}
