package problem

import (
	"strings"
	"unicode"
)

// End is the column behind the word, number or quoted text that the problem stands at, for editors that underline; 0 where
// there is none.
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
