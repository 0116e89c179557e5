package problem

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

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
