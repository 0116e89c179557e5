package message

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"tallyman/rules/row"
)

// Render writes the row. The text is valid UTF-8 without control characters other than tab and line break.
func (b *Bound) Render(r *row.Row) (string, error) {
	b.out = limited{text: b.out.text[:0]}
	if b.pieces != nil {
		b.join(r)
		return clean(b.out.String()), nil
	}
	for _, i := range b.columns {
		b.data[r.Columns[i].Name] = forTemplate(r.Values[i])
	}
	if err := b.template.Execute(&b.out, b.data); err != nil && !errors.Is(err, errFull) {
		return "", fmt.Errorf("rendering: %s", cause(err))
	}
	return clean(b.out.String()), nil
}

// join renders a template without logic.
func (b *Bound) join(r *row.Row) {
	for _, p := range b.pieces {
		if b.out.add(p.words) != nil {
			return
		}
		if p.column >= 0 && b.out.add(r.Values[p.column].String()) != nil {
			return
		}
	}
}

var errFull = errors.New("the text is too long")

// limited keeps the first MaxSize bytes.
type limited struct {
	text []byte
	full bool // something was dropped
}

// Write implements io.Writer.
func (l *limited) Write(p []byte) (int, error) { return len(p), l.add(string(p)) }

// add keeps what there is room for, and fails where that is not all.
func (l *limited) add(s string) error {
	room := MaxSize - len(l.text)
	l.text = append(l.text, s[:min(len(s), room)]...)
	if l.full = len(s) > room; l.full {
		return errFull
	}
	return nil
}

// String returns the text; one that is full ends in "…".
func (l *limited) String() string {
	if !l.full {
		return string(l.text)
	}
	const mark = "…"
	cut := MaxSize - len(mark)
	for cut > MaxSize-len(mark)-utf8.UTFMax && !utf8.RuneStart(l.text[cut]) {
		cut--
	}
	return string(l.text[:cut]) + mark
}

// clean replaces what no client can show and XML cannot carry.
func clean(s string) string {
	if !utf8.ValidString(s) {
		s = strings.ToValidUTF8(s, "\uFFFD")
	}
	if strings.IndexFunc(s, unclean) < 0 {
		return s
	}
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\r':
			return -1
		case unclean(r):
			return utf8.RuneError
		}
		return r
	}, s)
}

func unclean(r rune) bool {
	return r < ' ' && r != '\n' && r != '\t' || r == 0x7f || r == 0xfffe || r == 0xffff
}
