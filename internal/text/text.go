// Package text has the one policy of what a text may hold.
//
// A text that comes in is checked with Check, or CheckJSON where it stands in JSON: it is refused when it has bytes that are no UTF-8, a
// control character (category Cc), or a character that turns the direction of what stands around it (U+202A to U+202E, U+2066 to U+2069). A
// text of several lines may have line breaks and tabs. Joiners and marks of direction (ZWJ, ZWNJ, LRM, RLM) are letters' business and allowed.
//
// A text that comes from the row of a source is taken as it is: it names the finding. So a text that goes out may hold anything, and each output
// makes it fit: JSON and YAML carry the raw value with EscapeJSON, all else carries the marks of Visible, such as [U+202E].
package text

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// Shape says whether a text has one line or several.
type Shape uint8

// The shapes.
const (
	Line  Shape = iota // no line break, no tab
	Lines              // line breaks, as U+000A or as U+000D with U+000A, and tabs are allowed
	Raw                // what the row of a source may hold: whatever is UTF-8
)

// Code is that of problems that a Fault makes, in files and in the API.
const Code = "bad_text"

// Tag is the key of the struct tag that declares a field's shape: `text:"lines"` or `text:"raw"`. A field without it is one line.
const Tag = "text"

// ShapeOf reads the value of a tag.
func ShapeOf(tag string) Shape {
	switch tag {
	case "lines":
		return Lines
	case "raw":
		return Raw
	}
	return Line
}

// Fault is the first character of a text that the policy refuses.
type Fault struct { //nolint:errname // as JSONFault
	Offset int    // of the character, in bytes
	Place  int    // of the character, counted in characters from 1
	Name   string // of the character, such as "U+202E (RIGHT-TO-LEFT OVERRIDE)"
	broken bool   // a line break or a tab in a text of one line
}

// Error says what is wrong and where.
func (f *Fault) Error() string {
	if f.broken {
		return fmt.Sprintf("it has %s at character %d, and is a text of one line", f.Name, f.Place)
	}
	return fmt.Sprintf("it has %s at character %d, which no text may have", f.Name, f.Place)
}

// Check returns nil for a text of the shape, and the first fault of any other.
func Check(s string, shape Shape) *Fault {
	for i := 0; i < len(s); {
		if c := s[i]; c >= ' ' && c < 0x7f {
			i++
			continue
		}
		r, size := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && size == 1:
			return faultAt(s, i, fmt.Sprintf("the byte 0x%02X, which is no UTF-8,", s[i]), false)
		case r == '\n' || r == '\t' || r == '\r' && strings.HasPrefix(s[i:], "\r\n"):
			if shape == Line {
				return faultAt(s, i, Name(r), true)
			}
		case Refused(r) && shape != Raw:
			return faultAt(s, i, Name(r), false)
		}
		i += size
	}
	return nil
}

// CheckBytes is Check of bytes. A text that is fine costs no allocation, but for one of several lines.
func CheckBytes(b []byte, shape Shape) *Fault {
	if utf8.Valid(b) && rawRefused(b, 0) < 0 && !slices.ContainsFunc(b, func(c byte) bool { return c < ' ' }) {
		return nil
	}
	return Check(string(b), shape)
}

func faultAt(s string, offset int, name string, broken bool) *Fault {
	return &Fault{Offset: offset, Place: utf8.RuneCountInString(s[:offset]) + 1, Name: name, broken: broken}
}

// Refused tells whether no text may have the character, line breaks and tabs aside: a control, or one that turns the direction of others.
func Refused(r rune) bool { return isControl(r) || turns(r) }

func isControl(r rune) bool { return r >= 0 && r < ' ' || r >= 0x7f && r < 0xa0 }

func turns(r rune) bool { return r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069 }

// Visible returns the text with a mark such as [U+0007] in the place of each character that the policy refuses, and of the two that are no
// characters and that XML cannot hold (U+FFFE, U+FFFF). Bytes that are no UTF-8 become U+FFFD, line breaks U+000A. A text that has none of
// them is returned as it is. Check(Visible(s), Lines) is nil.
func Visible(s string) string {
	at := hidden(s)
	if at < 0 {
		return s
	}
	var b strings.Builder
	b.Grow(len(s) + 16)
	b.WriteString(s[:at])
	for i := at; i < len(s); {
		if c := s[i]; c >= ' ' && c < 0x7f {
			b.WriteByte(c)
			i++
			continue
		}
		r, size := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == '\n' || r == '\t':
			b.WriteByte(s[i])
		case r == '\r' && strings.HasPrefix(s[i:], "\r\n"): // the line feed follows
		case unseen(r):
			fmt.Fprintf(&b, "[U+%04X]", r)
		default:
			b.WriteRune(r) // U+FFFD for a byte that is no UTF-8
		}
		i += size
	}
	return b.String()
}

// VisibleLine is Visible as one line: each line break and tab is a space. Check(VisibleLine(s), Line) is nil.
func VisibleLine(s string) string {
	s = Visible(s)
	if strings.IndexByte(s, '\n') < 0 && strings.IndexByte(s, '\t') < 0 {
		return s
	}
	return strings.Map(func(r rune) rune {
		if r == '\n' || r == '\t' {
			return ' '
		}
		return r
	}, s)
}

func unseen(r rune) bool { return Refused(r) || r == 0xfffe || r == 0xffff }

// hidden is where a text has the first thing that Visible replaces, or -1.
func hidden(s string) int {
	for i := 0; i < len(s); {
		c := s[i]
		if c >= ' ' && c < 0x7f || c == '\n' || c == '\t' {
			i++
			continue
		}
		r, size := utf8.DecodeRuneInString(s[i:])
		if r == utf8.RuneError && size == 1 || unseen(r) {
			return i
		}
		i += size
	}
	return -1
}

// Quote shows what a client sent, shortened.
func Quote(s string) string {
	const most = 80
	if len(s) > most {
		s = strings.ToValidUTF8(s[:most], "") + "…"
	}
	return `"` + VisibleLine(s) + `"`
}
