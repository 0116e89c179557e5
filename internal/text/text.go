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

// controls are the usual names of U+0000 to U+001F.
var controls = [...]string{
	"NULL", "START OF HEADING", "START OF TEXT", "END OF TEXT", "END OF TRANSMISSION", "ENQUIRY", "ACKNOWLEDGE", "BELL", "BACKSPACE", "TAB",
	"LINE FEED", "LINE TABULATION", "FORM FEED", "CARRIAGE RETURN", "SHIFT OUT", "SHIFT IN", "DATA LINK ESCAPE", "DEVICE CONTROL 1",
	"DEVICE CONTROL 2", "DEVICE CONTROL 3", "DEVICE CONTROL 4", "NEGATIVE ACKNOWLEDGE", "SYNCHRONOUS IDLE", "END OF TRANSMISSION BLOCK", "CANCEL",
	"END OF MEDIUM", "SUBSTITUTE", "ESCAPE", "FILE SEPARATOR", "GROUP SEPARATOR", "RECORD SEPARATOR", "UNIT SEPARATOR",
}

// Name is how people call a character that the policy refuses, such as "U+0000 (NULL)".
func Name(r rune) string {
	name := "a control character"
	switch {
	case r >= 0 && int(r) < len(controls):
		name = controls[r]
	case r == 0x7f:
		name = "DELETE"
	case r == 0x85:
		name = "NEXT LINE"
	case r == 0x9b:
		name = "CONTROL SEQUENCE INTRODUCER"
	case r >= 0x202a && r <= 0x202e:
		name = [...]string{
			"LEFT-TO-RIGHT EMBEDDING", "RIGHT-TO-LEFT EMBEDDING", "POP DIRECTIONAL FORMATTING", "LEFT-TO-RIGHT OVERRIDE", "RIGHT-TO-LEFT OVERRIDE",
		}[r-0x202a]
	case r >= 0x2066 && r <= 0x2069:
		name = [...]string{
			"LEFT-TO-RIGHT ISOLATE", "RIGHT-TO-LEFT ISOLATE", "FIRST STRONG ISOLATE", "POP DIRECTIONAL ISOLATE",
		}[r-0x2066]
	case r >= 0xd800 && r <= 0xdfff:
		name = "half of a surrogate pair"
	}
	return fmt.Sprintf("U+%04X (%s)", r, name)
}

// MaxKey is the longest key of a request, in bytes.
const MaxKey = 255

// IsKey tells whether a text can be the key of a request (Idempotency-Key): printable ASCII characters, or none.
func IsKey(s string) bool {
	return len(s) <= MaxKey && !strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r > '~' })
}
