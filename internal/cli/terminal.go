package cli

import (
	"io"
	"os"
	"strconv"
	"strings"
	"unicode"

	"golang.org/x/term"

	"tallyman/internal/text"
)

// The width of what is printed: as the terminal has it, and where there is none.
const (
	narrowest    = 40
	defaultWidth = 120
)

// width is how many columns a line may have: COLUMNS, or the terminal's.
func (c *command) width() int {
	if n, err := strconv.Atoi(c.getenv("COLUMNS")); err == nil && n > 0 {
		return max(n, narrowest)
	}
	if f, ok := c.Out.(*os.File); ok {
		if n, _, err := term.GetSize(int(f.Fd())); err == nil && n > 0 {
			return max(n, narrowest)
		}
	}
	return defaultWidth
}

// cellWidth is how many columns a terminal gives to the text.
func cellWidth(s string) int {
	n := 0
	for _, r := range s {
		n += runeWidth(r)
	}
	return n
}

func runeWidth(r rune) int {
	switch {
	case unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf):
		return 0
	case unicode.In(r, unicode.Han, unicode.Hangul, unicode.Hiragana, unicode.Katakana),
		r >= 0x3000 && r <= 0x303f, r >= 0xff01 && r <= 0xff60, r >= 0x1f300 && r <= 0x1faff:
		return 2
	}
	return 1
}

// fit cuts a text to so many columns; what is cut ends in ….
func fit(s string, width int) string {
	if cellWidth(s) <= width {
		return s
	}
	n := 0
	for i, r := range s {
		if n += runeWidth(r); n > width-1 {
			return s[:i] + "…"
		}
	}
	return s
}

// oneLine makes a text that stays in its cell, and in which all can be seen.
func oneLine(s string) string { return text.VisibleLine(s) }

// jsonLine is oneLine of JSON, such as a key or a payload: it stays the JSON that it is, so that it can be copied.
func jsonLine[T ~string | ~[]byte](s T) string { return oneLine(string(text.EscapeJSON([]byte(s)))) }

// wrapped writes words behind a lead, broken at spaces where a line would be too long; what follows stands below the words.
func wrapped(w io.Writer, width int, lead, words string) {
	line := lead
	hang := strings.Repeat(" ", cellWidth(lead))
	flush := func() {
		_, _ = io.WriteString(w, strings.TrimRight(line, " ")+"\n") // as above
		line = hang
	}
	for i, paragraph := range strings.Split(words, "\n") {
		if i > 0 {
			flush()
		}
		empty := true
		for word := range strings.FieldsSeq(oneLine(paragraph)) {
			if !empty && cellWidth(line)+1+cellWidth(word) > width {
				flush()
				empty = true
			}
			if !empty {
				line += " "
			}
			line, empty = line+word, false
		}
	}
	flush()
}
