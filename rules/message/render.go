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
	for _, i := range b.columns {
		b.data[r.Columns[i].Name] = forTemplate(r.Values[i])
	}
	b.out.text = b.out.text[:0]
	if err := b.template.Execute(&b.out, b.data); err != nil && !errors.Is(err, errFull) {
		return "", fmt.Errorf("rendering: %s", cause(err))
	}
	return clean(b.out.String()), nil
}

var errFull = errors.New("the text is too long")

// limited keeps the first MaxSize bytes.
type limited struct{ text []byte }

// Write implements io.Writer.
func (l *limited) Write(p []byte) (int, error) {
	if len(l.text)+len(p) > MaxSize {
		l.text = append(l.text, p[:MaxSize-len(l.text)]...)
		return 0, errFull
	}
	l.text = append(l.text, p...)
	return len(p), nil
}

// String returns the text; one that is full ends in "…".
func (l *limited) String() string {
	if len(l.text) < MaxSize {
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
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t':
			return r
		case r == '\r':
			return -1
		case r < ' ' || r == 0x7f || r == 0xfffe || r == 0xffff:
			return utf8.RuneError
		}
		return r
	}, s)
}
