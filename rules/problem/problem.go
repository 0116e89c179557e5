package problem

import (
	"fmt"
	"strings"
	"unicode"
)

// Problem is one fault in a file. Line and Col count from 1, Col in characters; Line 0 means the file as a whole.
type Problem struct {
	Code    string `json:"code"` // stable, e.g. unknown_field; listed in docs/error-codes.md
	File    string `json:"file"`
	Line    int    `json:"line"`
	Col     int    `json:"col"`
	Message string `json:"message"`
	Hint    string `json:"hint,omitempty"`    // the way out, or "did you mean …"
	Snippet string `json:"snippet,omitempty"` // the line, or the part of it around Col
	Caret   int    `json:"caret,omitempty"`   // the column in Snippet that the caret marks; 0 = Col
	Rule    string `json:"rule,omitempty"`    // the id of the rule it stands in, where known
}

// Error is the one-line form: file:line:col: code: message.
func (p Problem) Error() string {
	if p.Line == 0 {
		return fmt.Sprintf("%s: %s: %s", p.File, p.Code, p.Message)
	}
	return fmt.Sprintf("%s:%d:%d: %s: %s", p.File, p.Line, p.Col, p.Code, p.Message)
}

// String adds the line of the file, a caret and the hint.
func (p Problem) String() string {
	var b strings.Builder
	b.WriteString(p.Error())
	if p.Snippet != "" {
		caret := p.Caret
		if caret == 0 {
			caret = p.Col
		}
		fmt.Fprintf(&b, "\n  %s\n  %s^", p.Snippet, caretPad(p.Snippet, caret))
	}
	if p.Hint != "" {
		fmt.Fprintf(&b, "\n  hint: %s", p.Hint)
	}
	return b.String()
}

// List is every problem of one or more files.
type List []Problem

// Error joins the problems, one a line.
func (l List) Error() string {
	lines := make([]string, len(l))
	for i, p := range l {
		lines[i] = p.Error()
	}
	return strings.Join(lines, "\n")
}

// Err returns the list as an error, or nil where it is empty.
func (l List) Err() error {
	if len(l) == 0 {
		return nil
	}
	return l
}

// End is the column behind the word, number or quoted text that the problem stands at, for editors that underline; 0 where
// there is none.
func (p Problem) End() int {
	caret := p.Caret
	if caret == 0 {
		caret = p.Col
	}
	line := []rune(p.Snippet)
	if caret < 1 || caret > len(line) {
		return 0
	}
	rest := line[caret-1:]
	if quote := rest[0]; quote == '"' || quote == '\'' {
		for i, r := range rest[1:] {
			if r == quote {
				return p.Col + i + 2
			}
		}
		return 0
	}
	n := 0
	for n < len(rest) && (unicode.IsLetter(rest[n]) || unicode.IsDigit(rest[n]) || strings.ContainsRune("_-.", rest[n])) {
		n++
	}
	if n == 0 {
		return 0
	}
	return p.Col + n
}
