package problem

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Problem is one fault in a file. Line and Col count from 1, Col in characters; Line 0 means the file as a whole.
type Problem struct {
	Code    string `json:"code"` // stable, e.g. unknown_field; listed in docs/reference/error-codes.md
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

// snippetWidth is how many characters of a line are shown on either side of the caret.
const snippetWidth = 80

// At makes a problem that stands in a line of a file. It keeps the line, or of a very long one the part around col.
func At(file, text string, line, col int, code, message, hint string) Problem {
	p := Problem{Code: code, File: file, Line: line, Col: col, Message: message, Hint: hint, Snippet: text}
	if utf8.RuneCountInString(text) <= 2*snippetWidth {
		return p
	}
	first := max(col-snippetWidth, 1)
	p.Caret = col - first + 1
	window, n := "", 0
	for at := range text {
		if n++; n == first {
			window = text[at:]
		}
		if n == col+snippetWidth {
			window = window[:len(window)-len(text[at:])] + "…"
			break
		}
	}
	if first > 1 {
		window = "…" + window
		p.Caret++
	}
	p.Snippet = window
	return p
}

// caretPad is the blank before the caret: as wide as what stands before col in a terminal, tabs kept.
func caretPad(line string, col int) string {
	var b strings.Builder
	for i, r := range []rune(line) {
		if i >= col-1 {
			break
		}
		switch {
		case r == '\t':
			b.WriteByte('\t')
		case unicode.Is(unicode.Mn, r):
		case isWide(r):
			b.WriteString("  ")
		default:
			b.WriteByte(' ')
		}
	}
	return b.String()
}

// isWide tells whether terminals give the character two columns.
func isWide(r rune) bool {
	return unicode.In(r, unicode.Han, unicode.Hangul, unicode.Hiragana, unicode.Katakana) ||
		r >= 0x3000 && r <= 0x303f || r >= 0xff01 && r <= 0xff60 || r >= 0x1f300 && r <= 0x1faff
}

// DidYouMean returns a hint that names the candidate nearest to name, or "" where none is near.
func DidYouMean(name string, candidates []string) string {
	const longest = 64
	if name == "" || len(name) > longest {
		return ""
	}
	best, most := "", max(1, (len([]rune(name))+1)/3)
	for _, c := range candidates {
		if d := distance(fold(name), fold(c)); d < most || d == most && best == "" {
			best, most = c, d
		}
	}
	if best == "" {
		return ""
	}
	return fmt.Sprintf("did you mean %q?", best)
}

// Nearest hints at the name that was meant, or says which there are.
func Nearest(name string, names []string, what string) string {
	hint := DidYouMean(name, names)
	switch {
	case hint != "":
		return hint
	case len(names) == 0:
		return "there are no " + what
	}
	return what + ": " + strings.Join(names, ", ")
}

// fold makes spellings alike that differ in case and word breaks only: repeatInterval, repeat-interval.
func fold(s string) []rune {
	return []rune(strings.NewReplacer("-", "", "_", "").Replace(strings.ToLower(s)))
}

// distance counts insertions, deletions, substitutions and swaps of neighbours between two words.
func distance(a, b []rune) int {
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last, row = last, row, before
	}
	return last[len(b)]
}
