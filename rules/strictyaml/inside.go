package strictyaml

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// inside maps a character of a scalar's decoded text back to the file. The scanner keeps only where a scalar begins, so the
// source is walked beside the text: folding, indentation and escapes change blanks and spellings, never the
// order of the other characters.
func (f *File) inside(n *Node, offset int) place {
	start := f.clamp(place{n.Line, n.Col})
	w := &walker{src: f.src, at: f.content(f.byteAt(start), n), style: n.style}
	i := 0
	for _, r := range n.Text {
		if i == offset {
			break
		}
		if !w.pass(r) {
			return start
		}
		i++
	}
	if rest := []rune(n.Text); i < len(rest) && !blank(rest[i]) {
		w.skipBlanks()
	}
	return f.placeAt(w.at)
}

// content skips what stands before a scalar's text: anchor, tag, quote, the header line of a block.
func (f *File) content(at int, n *Node) int {
	for at < len(f.src) && (f.src[at] == '&' || f.src[at] == '!') && n.style&yaml.DoubleQuotedStyle == 0 {
		at += strings.IndexAny(f.src[at:]+" ", " \t\r\n")
		at += len(f.src[at:]) - len(strings.TrimLeft(f.src[at:], " \t\r\n"))
	}
	switch {
	case at >= len(f.src):
		return len(f.src)
	case n.style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0:
		line := f.placeAt(at).line
		if line < len(f.ends) {
			return f.ends[line].from
		}
		return len(f.src)
	case n.style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle) != 0:
		return at + 1
	default:
		return at
	}
}

type walker struct {
	src   string
	at    int
	style yaml.Style
}

func blank(r rune) bool { return r == ' ' || r == '\t' || isBreak(r) }

// pass moves behind the source of one decoded character; false means that the source does not match.
func (w *walker) pass(r rune) bool {
	if blank(r) {
		if got, size := w.char(); got == r {
			w.at += size
		}
		return true
	}
	w.skipBlanks()
	got, size := w.char()
	w.at += size
	return got == r
}

// skipBlanks moves to the next character that is not blank, over escaped blanks too.
func (w *walker) skipBlanks() {
	for {
		r, size := w.char()
		if size == 0 || !blank(r) {
			return
		}
		w.at += size
	}
}

// char decodes one character of the source and how many bytes spell it.
func (w *walker) char() (rune, int) {
	rest := w.src[w.at:]
	if w.style&yaml.SingleQuotedStyle != 0 && strings.HasPrefix(rest, "''") {
		return '\'', 2
	}
	if w.style&yaml.DoubleQuotedStyle != 0 && len(rest) > 1 && rest[0] == '\\' {
		return escape(rest)
	}
	return utf8.DecodeRuneInString(rest) // size 0 at the end
}

var escapes = map[byte]rune{
	'0': 0, 'a': '\a', 'b': '\b', 't': '\t', 'n': '\n', 'v': '\v', 'f': '\f', 'r': '\r', 'e': 0x1b,
	'N': 0x85, '_': 0xa0, 'L': 0x2028, 'P': 0x2029,
}

// escape decodes a backslash escape of a text in double quotes.
func escape(s string) (rune, int) {
	digits := map[byte]int{'x': 2, 'u': 4, 'U': 8}[s[1]]
	if digits > 0 && len(s) >= 2+digits {
		if n, err := strconv.ParseUint(s[2:2+digits], 16, 32); err == nil {
			return rune(n), 2 + digits //nolint:gosec // the scanner accepted it as a character
		}
	}
	if r, ok := escapes[s[1]]; ok {
		return r, 2
	}
	r, size := utf8.DecodeRuneInString(s[1:]) // an escaped break is blank, anything else stands for itself
	return r, 1 + size
}
