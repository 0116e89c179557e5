package render

import (
	"strings"
	"unicode/utf8"

	"tallyman/internal/text"
)

// OneLine makes one line of a text: white space becomes single spaces, and what no text may have a visible mark. Nothing that goes into a
// header may begin another one.
func OneLine(s string) string { return strings.Join(strings.Fields(text.Visible(s)), " ") }

// Lines is OneLine for a text of several lines.
func Lines(s string) string { return text.Visible(s) }

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
