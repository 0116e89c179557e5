package strictyaml

import (
	"reflect"
	"strconv"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"tallyman/rules/problem"
)

// File is one parsed file.
type File struct {
	Name string
	Root *Node // An empty mapping where the file is empty.
	src  string
	ends []span // Each line, without its line break.

	fields map[reflect.Type]*structFields // A cache for fieldsOf.
}

// span is a part of src, in bytes.
type span struct{ from, to int }

// textPlace is a place in the file. line and col count from 1, and col counts characters.
type textPlace struct{ line, col int }

// newFile cuts src into lines in the same way as the YAML scanner: NEL, LS and PS also end a line.
func newFile(name, src string) *File {
	f := &File{Name: name, src: src, fields: map[reflect.Type]*structFields{}}
	from := 0
	for i := 0; i < len(src); {
		r, size := utf8.DecodeRuneInString(src[i:])
		if r == '\r' && strings.HasPrefix(src[i:], "\r\n") {
			size = 2
		}
		if isBreak(r) {
			f.ends = append(f.ends, span{from, i})
			from = i + size
		}
		i += size
	}
	f.ends = append(f.ends, span{from, len(src)})
	return f
}

func isBreak(r rune) bool {
	return r == '\n' || r == '\r' || r == '\u0085' || r == '\u2028' || r == '\u2029'
}

// line returns the text of the line, which counts from 1.
func (f *File) line(n int) string { return f.src[f.ends[n-1].from:f.ends[n-1].to] }

// clamp moves a place into the file. The scanner gives a missing value a place after the end of its line.
func (f *File) clamp(p textPlace) textPlace {
	p.line = min(max(p.line, 1), len(f.ends))
	p.col = min(max(p.col, 1), utf8.RuneCountInString(f.line(p.line))+1)
	return p
}

// byteAt returns the offset in src of a place.
func (f *File) byteAt(p textPlace) int {
	at := f.ends[p.line-1].from
	for range p.col - 1 {
		_, size := utf8.DecodeRuneInString(f.src[at:])
		at += size
	}
	return at
}

// placeAt returns the place of an offset in src.
func (f *File) placeAt(at int) textPlace {
	lo, hi := 0, len(f.ends)-1
	for lo < hi {
		mid := (lo + hi + 1) / 2
		if f.ends[mid].from <= at {
			lo = mid
		} else {
			hi = mid - 1
		}
	}
	end := min(at, f.ends[lo].to)
	return textPlace{lo + 1, utf8.RuneCountInString(f.src[f.ends[lo].from:end]) + 1}
}

// problemAt makes a problem at the place.
func (f *File) problemAt(p textPlace, code, message, hint string) problem.Problem {
	p = f.clamp(p)
	return problem.At(f.Name, f.line(p.line), p.line, p.col, code, message, hint)
}

// Problem makes a problem at the node. Where n is nil, the place is the top of the file. A node of a variable or flag
// has no place in the file; the problem then names its origin.
func (f *File) Problem(n *Node, code, message, hint string) problem.Problem {
	if n == nil {
		return f.problemAt(textPlace{1, 1}, code, message, hint)
	}
	if n.Origin != "" {
		return problem.Problem{File: n.Origin, Code: code, Message: message, Hint: hint}
	}
	return f.problemAt(textPlace{n.Line, n.Col}, code, message, hint)
}

// ProblemIn makes a problem at a character inside a scalar. offset counts the characters of the decoded text from 0.
func (f *File) ProblemIn(n *Node, offset int, code, message, hint string) problem.Problem {
	if n == nil || n.Kind != Scalar {
		return f.Problem(n, code, message, hint)
	}
	return f.problemAt(f.inside(n, offset), code, message, hint)
}

// inside maps a character of a scalar's decoded text back to the file. The scanner tells only where a scalar begins.
// Therefore inside walks over the source and the text together. Folding, indentation and escapes change spaces and
// spellings, but never the order of the other characters.
func (f *File) inside(n *Node, offset int) textPlace {
	start := f.clamp(textPlace{n.Line, n.Col})
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

// content skips everything before the text of a scalar: anchor, tag, quote, or the header line of a block.
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

// pass moves past the source of one decoded character. It returns false where the source does not match.
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

// skipBlanks moves to the next character that is not blank. It also skips escaped blanks.
func (w *walker) skipBlanks() {
	for {
		r, size := w.char()
		if size == 0 || !blank(r) {
			return
		}
		w.at += size
	}
}

// char returns the next character of the source, decoded, and the number of bytes of its spelling.
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
	r, size := utf8.DecodeRuneInString(s[1:]) // an escaped line break is a blank, other characters stay
	return r, 1 + size
}
