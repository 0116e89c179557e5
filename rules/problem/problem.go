package problem

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Problem is one fault in a file. Line and Col count from 1, and Col counts characters. Line 0 means the file as a
// whole.
type Problem struct {
	Code    string `json:"code"` // A stable name such as unknown_field. docs/reference/error-codes.md lists all of them.
	File    string `json:"file"`
	Line    int    `json:"line"`
	Col     int    `json:"col"`
	Message string `json:"message"`
	Hint    string `json:"hint,omitempty"`    // What to do, or "did you mean …".
	Snippet string `json:"snippet,omitempty"` // The text of the line, or of its part around Col.
	Caret   int    `json:"caret,omitempty"`   // The column of Snippet that the caret marks. 0 means Col.
	Rule    string `json:"rule,omitempty"`    // The id of the rule that has the problem, where it is known.
}

// Error returns the problem in one line: file:line:col: code: message.
func (p Problem) Error() string {
	if p.Line == 0 {
		return fmt.Sprintf("%s: %s: %s", p.File, p.Code, p.Message)
	}
	return fmt.Sprintf("%s:%d:%d: %s: %s", p.File, p.Line, p.Col, p.Code, p.Message)
}

// String returns the line of Error, then the text of the file's line with a caret below it, then the hint.
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

// List holds the problems of one or more files.
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

// End returns the column after the word, number or quoted text at the problem's place. Editors underline the text up to
// this column. End returns 0 where no such text begins at the place.
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

// snippetWidth is how many characters of a long line a snippet has on each side of the caret.
const snippetWidth = 80

// At makes a problem at a line and column of a file. text is the line. The snippet is the line, or the part around col
// where the line is very long.
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

// caretPad returns the space before the caret. It is as wide in a terminal as the text before col, and keeps its tabs.
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

// isWide tells whether a terminal shows the character two columns wide.
func isWide(r rune) bool {
	return unicode.In(r, unicode.Han, unicode.Hangul, unicode.Hiragana, unicode.Katakana) ||
		r >= 0x3000 && r <= 0x303f || r >= 0xff01 && r <= 0xff60 || r >= 0x1f300 && r <= 0x1faff
}

// DidYouMean returns a hint with the candidate that is nearest to name. It returns "" where no candidate is near: about
// a third of the characters may differ, and at least one.
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

// Nearest returns the hint of DidYouMean, or else a list of all names. what is the plural noun for the names, such as
// "sinks".
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

// fold makes spellings equal that differ only in case and word breaks, such as repeatInterval and repeat-interval.
func fold(s string) []rune {
	return []rune(strings.NewReplacer("-", "", "_", "").Replace(strings.ToLower(s)))
}

// distance counts the insertions, deletions, substitutions and swaps of neighbours that turn one word into the other.
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
