package text

import (
	"encoding/json"
	"fmt"
	"io"
	"reflect"
	"strings"
	"sync"
	"unicode/utf8"
)

// Visible returns the text with a mark such as [U+0007] in the place of each character that the policy refuses. U+FFFE
// and U+FFFF also become marks, because XML cannot hold them. Bytes that are not UTF-8 become U+FFFD, and line breaks
// become U+000A. A text without any of these is returned as it is. Check(Visible(s), Lines) is always nil.
func Visible(s string) string {
	at := hidden(s)
	if at < 0 {
		return s
	}
	var b strings.Builder
	b.Grow(len(s) + 16)
	b.WriteString(s[:at])
	for i := at; i < len(s); {
		if c := s[i]; c >= ' ' && c < 0x7f {
			b.WriteByte(c)
			i++
			continue
		}
		r, size := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == '\n' || r == '\t':
			b.WriteByte(s[i])
		case r == '\r' && strings.HasPrefix(s[i:], "\r\n"): // the line feed follows
		case unseen(r):
			fmt.Fprintf(&b, "[U+%04X]", r)
		default:
			b.WriteRune(r) // U+FFFD for a byte that is no UTF-8
		}
		i += size
	}
	return b.String()
}

// VisibleLine is Visible in one line: each line break and tab becomes a space. Check(VisibleLine(s), Line) is always
// nil.
func VisibleLine(s string) string {
	s = Visible(s)
	if strings.IndexByte(s, '\n') < 0 && strings.IndexByte(s, '\t') < 0 {
		return s
	}
	return strings.Map(func(r rune) rune {
		if r == '\n' || r == '\t' {
			return ' '
		}
		return r
	}, s)
}

func unseen(r rune) bool { return Refused(r) || r == 0xfffe || r == 0xffff }

// hidden returns the offset of the first character that Visible replaces, or -1.
func hidden(s string) int {
	for i := 0; i < len(s); {
		c := s[i]
		if c >= ' ' && c < 0x7f || c == '\n' || c == '\t' {
			i++
			continue
		}
		r, size := utf8.DecodeRuneInString(s[i:])
		if r == utf8.RuneError && size == 1 || unseen(r) {
			return i
		}
		i += size
	}
	return -1
}

// Quote shortens a text from a client and puts it in quotes, for a message.
func Quote(s string) string {
	const most = 80
	if len(s) > most {
		s = strings.ToValidUTF8(s[:most], "") + "…"
	}
	return `"` + VisibleLine(s) + `"`
}

// VisibleIn returns the value with Visible applied to every text in it. It serves encoders that cannot write some
// characters at all, such as the encoder of XML. It copies the parts that change, so v itself stays the same.
// Unexported fields stay as they are.
func VisibleIn(v any) any {
	if v == nil {
		return nil
	}
	out, _ := visibleIn(reflect.ValueOf(v))
	return out.Interface()
}

// visibleIn also tells whether anything has changed.
func visibleIn(v reflect.Value) (_ reflect.Value, changed bool) {
	switch v.Kind() { //nolint:exhaustive // no other kind holds a text
	case reflect.String:
		s := Visible(v.String())
		if s == v.String() {
			return v, false
		}
		return reflect.ValueOf(s).Convert(v.Type()), true
	case reflect.Pointer, reflect.Interface:
		return visibleBehind(v)
	case reflect.Struct:
		return visibleFields(v)
	case reflect.Slice, reflect.Array:
		return visibleItems(v)
	case reflect.Map:
		return visibleMembers(v)
	}
	return v, false
}

func visibleBehind(v reflect.Value) (_ reflect.Value, changed bool) {
	if v.IsNil() {
		return v, false
	}
	elem, changed := visibleIn(v.Elem())
	if !changed {
		return v, false
	}
	if v.Kind() == reflect.Interface {
		return elem, true
	}
	out := reflect.New(v.Type().Elem())
	out.Elem().Set(elem)
	return out, true
}

func visibleFields(v reflect.Value) (_ reflect.Value, changed bool) {
	out := v
	for i := range v.NumField() {
		if !v.Type().Field(i).IsExported() {
			continue
		}
		field, other := visibleIn(v.Field(i))
		if !other {
			continue
		}
		if !changed {
			out, changed = reflect.New(v.Type()).Elem(), true
			out.Set(v)
		}
		out.Field(i).Set(field)
	}
	return out, changed
}

func visibleItems(v reflect.Value) (_ reflect.Value, changed bool) {
	if v.Type() == rawType {
		raw := v.Bytes()
		if rawRefused(raw, 0) < 0 {
			return v, false
		}
		return reflect.ValueOf(json.RawMessage(EscapeJSON(raw))), true
	}
	out := v
	for i := range v.Len() {
		item, other := visibleIn(v.Index(i))
		if !other {
			continue
		}
		if !changed {
			out, changed = reflect.New(v.Type()).Elem(), true
			if v.Kind() == reflect.Slice {
				out.Set(reflect.MakeSlice(v.Type(), v.Len(), v.Len()))
			}
			reflect.Copy(out, v)
		}
		out.Index(i).Set(item)
	}
	return out, changed
}

func visibleMembers(v reflect.Value) (_ reflect.Value, changed bool) {
	out := reflect.MakeMapWithSize(v.Type(), v.Len())
	for name, value := range v.Seq2() {
		name, one := visibleIn(name)
		value, other := visibleIn(value)
		changed = changed || one || other
		out.SetMapIndex(name, value)
	}
	if !changed {
		return v, false
	}
	return out, true
}

// Writer writes texts for people to another writer, with the marks of Visible. A character may arrive in parts; the
// Writer keeps its beginning until the rest comes. It is safe for concurrent use.
type Writer struct {
	to   io.Writer
	mu   sync.Mutex
	rest []byte // The beginning of a character, or a carriage return that a line feed may follow.
}

// NewWriter makes a Writer that writes to another writer.
func NewWriter(to io.Writer) *Writer { return &Writer{to: to} }

// Write writes a part of the text.
func (w *Writer) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	text := p
	if len(w.rest) > 0 {
		text = append(w.rest, p...)
		w.rest = nil
	}
	whole := len(text) - unfinished(text)
	w.rest = append(w.rest, text[whole:]...)
	if _, err := io.WriteString(w.to, Visible(string(text[:whole]))); err != nil {
		return 0, err
	}
	return len(p), nil
}

// Flush writes the beginning of a character whose rest has not come. The caller calls it at the end of the text.
func (w *Writer) Flush() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	rest := string(w.rest)
	w.rest = nil
	if rest == "" {
		return nil
	}
	_, err := io.WriteString(w.to, Visible(rest))
	return err
}

// unfinished returns how many bytes at the end may be the beginning of a character or of a line break.
func unfinished(p []byte) int {
	if n := len(p); n > 0 && p[n-1] == '\r' {
		return 1
	}
	for n := 1; n < utf8.UTFMax && n <= len(p); n++ {
		if c := p[len(p)-n]; utf8.RuneStart(c) {
			if c >= utf8.RuneSelf && !utf8.FullRune(p[len(p)-n:]) {
				return n
			}
			break
		}
	}
	return 0
}
