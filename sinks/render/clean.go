package render

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// OneLine makes one line of a text: white space and control characters become single spaces. Nothing that goes into a header
// may begin another one.
func OneLine(s string) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	return strings.Join(strings.FieldsFunc(s, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }), " ")
}

// Lines is OneLine for a text of several lines.
func Lines(s string) string {
	s = strings.ReplaceAll(strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\r\n", "\n"), "\r", "\n")
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\n' && r != '\t' {
			return -1
		}
		return r
	}, s)
}

// Shorten cuts a text to so many characters.
func Shorten(s string, n int) string {
	if utf8.RuneCountInString(s) <= n {
		return s
	}
	return string([]rune(s)[:n-1]) + more
}

// ShortenBytes cuts a text to so many bytes, and no character in two.
func ShortenBytes(s string, n int) string {
	if len(s) <= n {
		return s
	}
	cut := n - len(more)
	for cut > 0 && !utf8.RuneStart(s[cut]) {
		cut--
	}
	return s[:cut] + more
}

// more stands for what was cut off.
const more = "…"
