package strictyaml

import (
	"reflect"
	"strings"
	"unicode/utf8"

	"tallyman/rules/problem"
)

// File is one parsed file.
type File struct {
	Name string
	Root *Node // an empty mapping where the file holds nothing
	src  string
	ends []span // of each line, without its break

	fields map[reflect.Type]*structFields // of the types that it was decoded into
}

// span is a part of src in bytes.
type span struct{ from, to int }

// place counts from 1, col in characters.
type place struct{ line, col int }

// newFile cuts src into lines the way the YAML scanner counts them: NEL, LS and PS end a line as well.
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

// clamp moves a place into the file: the scanner puts an absent value behind the end of its line.
func (f *File) clamp(p place) place {
	p.line = min(max(p.line, 1), len(f.ends))
	p.col = min(max(p.col, 1), utf8.RuneCountInString(f.line(p.line))+1)
	return p
}

// byteAt is the offset in src of a place in the file.
func (f *File) byteAt(p place) int {
	at := f.ends[p.line-1].from
	for range p.col - 1 {
		_, size := utf8.DecodeRuneInString(f.src[at:])
		at += size
	}
	return at
}

// placeAt is the place of a byte offset.
func (f *File) placeAt(at int) place {
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
	return place{lo + 1, utf8.RuneCountInString(f.src[f.ends[lo].from:end]) + 1}
}

// problemAt makes a problem that stands at p.
func (f *File) problemAt(p place, code, message, hint string) problem.Problem {
	p = f.clamp(p)
	return problem.At(f.Name, f.line(p.line), p.line, p.col, code, message, hint)
}

// Problem makes a problem that stands at the node, or at the top of the file where n is nil.
func (f *File) Problem(n *Node, code, message, hint string) problem.Problem {
	if n == nil {
		return f.problemAt(place{1, 1}, code, message, hint)
	}
	if n.Origin != "" {
		return problem.Problem{File: n.Origin, Code: code, Message: message, Hint: hint}
	}
	return f.problemAt(place{n.Line, n.Col}, code, message, hint)
}

// ProblemIn makes a problem that stands at a character inside a scalar; offset counts the characters of its
// decoded text from 0.
func (f *File) ProblemIn(n *Node, offset int, code, message, hint string) problem.Problem {
	if n == nil || n.Kind != Scalar {
		return f.Problem(n, code, message, hint)
	}
	return f.problemAt(f.inside(n, offset), code, message, hint)
}
