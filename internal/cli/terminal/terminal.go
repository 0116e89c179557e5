package terminal

import (
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"unicode"

	"golang.org/x/term"

	"tallyman/internal/text"
)

// The widths of the output: limits for the width of a terminal, and the width without a terminal.
const (
	narrowest    = 40
	defaultWidth = 120
)

// Is tells whether the stream is a terminal.
func Is(stream any) bool {
	f, ok := stream.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	if err != nil || info.Mode()&os.ModeCharDevice == 0 {
		return false
	}
	null, err := os.Stat(os.DevNull)
	return err != nil || !os.SameFile(info, null)
}

// Width returns the number of columns of the stream: the value of COLUMNS, or the width of the terminal.
func Width(stream any, columns string) int {
	if n, err := strconv.Atoi(columns); err == nil && n > 0 {
		return max(n, narrowest)
	}
	if f, ok := stream.(*os.File); ok {
		if n, _, err := term.GetSize(int(f.Fd())); err == nil && n > 0 {
			return max(n, narrowest)
		}
	}
	return defaultWidth
}

// CellWidth returns the number of columns that the text takes in a terminal.
func CellWidth(s string) int {
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

// Fit cuts a text to the number of columns. A cut text ends in ….
func Fit(s string, width int) string {
	if CellWidth(s) <= width {
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

// OneLine returns the text in one line, with invisible characters made visible.
func OneLine(s string) string { return text.VisibleLine(s) }

// JSONLine is OneLine for JSON, such as a key or a payload. The line stays valid JSON of the same value, so people can
// copy it.
func JSONLine[T ~string | ~[]byte](s T) string { return OneLine(string(text.EscapeJSON([]byte(s)))) }

// Wrap writes a lead and then words. Wrap wraps the words at spaces. Further lines begin below the first word.
func Wrap(w io.Writer, width int, lead, words string) {
	line := lead
	hang := strings.Repeat(" ", CellWidth(lead))
	flush := func() {
		fmt.Fprintln(w, strings.TrimRight(line, " "))
		line = hang
	}
	for i, paragraph := range strings.Split(words, "\n") {
		if i > 0 {
			flush()
		}
		empty := true
		for word := range strings.FieldsSeq(OneLine(paragraph)) {
			if !empty && CellWidth(line)+1+CellWidth(word) > width {
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

// Page is a writer with the width of its lines.
type Page struct {
	io.Writer
	Width int
}

// Line writes a line and does not wrap it.
func (p *Page) Line(format string, args ...any) { fmt.Fprintf(p, format+"\n", args...) }

// Wrap writes a lead and then words, wrapped at the width.
func (p *Page) Wrap(lead, words string) { Wrap(p, p.Width, lead, words) }

// Grid writes a table within the width, and returns how many columns had no room.
func (p *Page) Grid(indent string, header []string, rows [][]string) (leftOut int) {
	return Grid(p, p.Width, indent, header, rows)
}
