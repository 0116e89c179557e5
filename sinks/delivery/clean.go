package delivery

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// longError is how much of an error's text is kept, in bytes.
const longError = 2000

// clean makes an error's text fit for the log, the ledger and people: without secrets, on one line, valid UTF-8, not too long.
func clean(err error, redact func(string) string) string {
	text := strings.ToValidUTF8(redact(err.Error()), "�")
	text = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, text)
	if len(text) <= longError {
		return text
	}
	end := longError
	for !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end] + "…"
}
