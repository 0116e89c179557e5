package text

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// Shape says whether a text has one line or several lines, or is a raw text of a source.
type Shape uint8

// The shapes.
const (
	Line  Shape = iota // one line: no line break and no tab
	Lines              // several lines: tabs and line breaks (U+000A, or U+000D with U+000A) are allowed
	Raw                // a text from the row of a source: any UTF-8
)

// Code is the code of a problem with a text, in files and in the API.
const Code = "bad_text"

// Tag is the key of the struct tag that declares the shape of a field: `text:"lines"` or `text:"raw"`. A field without
// the tag has the shape Line.
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
	Offset int    // The offset of the character, in bytes.
	Place  int    // The place of the character, in characters from 1.
	Name   string // The name of the character, such as "U+202E (RIGHT-TO-LEFT OVERRIDE)".
	broken bool   // The character is a line break or a tab in a text of one line.
}

// Error names the character and its place.
func (f *Fault) Error() string {
	if f.broken {
		return fmt.Sprintf("it has %s at character %d; the text must be one line", f.Name, f.Place)
	}
	return fmt.Sprintf("it has %s at character %d; no text may have this character", f.Name, f.Place)
}

// Check returns the first fault of a text, or nil where the text has the shape.
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

// CheckBytes is Check for bytes. It allocates nothing for a text of one line without faults.
func CheckBytes(b []byte, shape Shape) *Fault {
	if utf8.Valid(b) && rawRefused(b, 0) < 0 && !slices.ContainsFunc(b, func(c byte) bool { return c < ' ' }) {
		return nil
	}
	return Check(string(b), shape)
}

func faultAt(s string, offset int, name string, broken bool) *Fault {
	return &Fault{Offset: offset, Place: utf8.RuneCountInString(s[:offset]) + 1, Name: name, broken: broken}
}

// Refused tells whether the policy refuses the character: a control character, or one that turns the direction of the
// text around it. It is also true for line breaks and tabs, which Check allows in some shapes.
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

// Name returns the name of a character that the policy refuses, such as "U+0000 (NULL)".
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

// IsKey tells whether a text can be the key of a request (Idempotency-Key): at most MaxKey printable ASCII characters.
// An empty text is a key as well.
func IsKey(s string) bool {
	return len(s) <= MaxKey && !strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r > '~' })
}
