package text

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// EscapeJSON escapes the characters that the policy refuses, such as \u0085, where the encoder of JSON has left them as
// they are. It also takes YAML in the form of JSON. The value stays the same. Without such characters it returns data
// itself.
func EscapeJSON(data []byte) []byte { return replaceRefused(data, `\u%04x`) }

// Mark replaces the characters that the policy refuses by the marks of Visible, in the output of an encoder such as the
// encoder of XML. It does not look at characters below U+0020, because encoders leave only line breaks and tabs there.
func Mark(data []byte) []byte { return replaceRefused(data, "[U+%04X]") }

func replaceRefused(data []byte, format string) []byte {
	at := rawRefused(data, 0)
	if at < 0 {
		return data
	}
	out := make([]byte, 0, len(data)+64)
	from := 0
	for at >= 0 {
		r, size := utf8.DecodeRune(data[at:])
		out = append(out, data[from:at]...)
		out = fmt.Appendf(out, format, r)
		from = at + size
		at = rawRefused(data, from)
	}
	return append(out, data[from:]...)
}

// rawRefused returns the offset of the next character, at or after from, that the policy refuses and that an encoder
// may leave as it is. It returns -1 where there is none. All these characters begin with one of three bytes.
func rawRefused(data []byte, from int) int {
	for i := from; i < len(data); i++ {
		switch data[i] {
		case 0x7f:
			return i
		case 0xc2, 0xe2:
			if r, size := utf8.DecodeRune(data[i:]); size > 1 && Refused(r) {
				return i
			}
		}
	}
	return -1
}

// JSONFault is the first text in JSON that the policy refuses.
type JSONFault struct { //nolint:errname // it describes a text; only the sender of the text sees it as an error
	Path  string // The path of the member or item, such as notices[3].title. Empty for the whole value.
	Fault *Fault
}

// Error names the path, the character and its place.
func (f *JSONFault) Error() string {
	if f.Path == "" {
		return f.Fault.Error()
	}
	return f.Path + ": " + f.Fault.Error()
}

// CheckJSON returns the first text of a JSON value that the policy refuses. Names of members are texts too.
//
// into is the type into which the value will be decoded. Its fields declare the shapes of their texts with Tag. Names,
// and texts without a tag, have one line. Where the type is not known, as in a payload whose form only its reader
// knows, texts may have several lines. CheckJSON reads escapes, so it also refuses \u0000 and halves of surrogate
// pairs. It reports no other faults of JSON, because the decoder does that.
func CheckJSON(data []byte, into reflect.Type) *JSONFault {
	if !suspicious(data) {
		return nil
	}
	w := &walker{data: data, dec: json.NewDecoder(bytes.NewReader(data))}
	w.dec.UseNumber() // numbers are not checked here
	if err := w.value(into, Lines); err != nil {
		if fault, ok := errors.AsType[*JSONFault](err); ok {
			return fault
		}
	}
	return nil
}

// suspicious tells whether CheckJSON must look at the texts. Most JSON has no suspicious byte and needs no further
// check.
func suspicious(data []byte) bool {
	if !utf8.Valid(data) || rawRefused(data, 0) >= 0 {
		return true
	}
	for {
		i := bytes.IndexByte(data, '\\')
		if i < 0 || i+1 >= len(data) {
			return i >= 0
		}
		if c := data[i+1]; c != '"' && c != '\\' && c != '/' {
			return true
		}
		data = data[i+2:]
	}
}

// walker walks over a JSON value and checks each text against its field.
type walker struct {
	data []byte
	dec  *json.Decoder
	path []byte
}

var rawType = reflect.TypeFor[json.RawMessage]()

// value checks the next value. of is its type, or nil where the type is not known. shape is the shape of its texts.
func (w *walker) value(of reflect.Type, shape Shape) error {
	of = plain(of)
	start := w.dec.InputOffset()
	token, err := w.dec.Token()
	if err != nil {
		return err
	}
	switch t := token.(type) {
	case json.Delim:
		if t == '{' {
			return w.object(of, shape)
		}
		return w.array(of, shape)
	case string:
		if of == nil {
			shape = Lines
		}
		return w.text(start, shape)
	}
	return nil
}

func (w *walker) object(of reflect.Type, shape Shape) error {
	for w.dec.More() {
		start := w.dec.InputOffset()
		token, err := w.dec.Token()
		if err != nil {
			return err
		}
		name, _ := token.(string) // always a name, because the decoder fails otherwise
		if err := w.text(start, Line); err != nil {
			return err
		}
		before := len(w.path)
		if before > 0 {
			w.path = append(w.path, '.')
		}
		w.path = append(w.path, name...)
		if err := w.value(member(of, name, shape)); err != nil {
			return err
		}
		w.path = w.path[:before]
	}
	_, err := w.dec.Token()
	return err
}

func (w *walker) array(of reflect.Type, shape Shape) error {
	if of != nil && (of.Kind() == reflect.Slice || of.Kind() == reflect.Array) {
		of = of.Elem()
	} else {
		of = nil
	}
	for i := 0; w.dec.More(); i++ {
		before := len(w.path)
		w.path = append(strconv.AppendInt(append(w.path, '['), int64(i), 10), ']')
		if err := w.value(of, shape); err != nil {
			return err
		}
		w.path = w.path[:before]
	}
	_, err := w.dec.Token()
	return err
}

// member returns the type and the shape of a member of an object. It does not report unknown names, because the decoder
// does.
func member(of reflect.Type, name string, shape Shape) (reflect.Type, Shape) {
	switch {
	case of == nil:
		return nil, Lines
	case of.Kind() == reflect.Map:
		return of.Elem(), shape
	case of.Kind() == reflect.Struct:
		for _, f := range reflect.VisibleFields(of) {
			if called, _, _ := strings.Cut(f.Tag.Get("json"), ","); called == name {
				return f.Type, ShapeOf(f.Tag.Get(Tag))
			}
		}
	}
	return nil, Line
}

// plain returns the type without pointers. It returns nil for json.RawMessage and for interfaces, whose form is not
// known.
func plain(t reflect.Type) reflect.Type {
	for t != nil && t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t == nil || t == rawType || t.Kind() == reflect.Interface {
		return nil
	}
	return t
}

// text checks the text of the last token. start is the offset after the token before it.
func (w *walker) text(start int64, shape Shape) error {
	raw := w.data[start:w.dec.InputOffset()]
	open := bytes.IndexByte(raw, '"')
	if open < 0 {
		return nil
	}
	s, fault := unquote(raw[open+1 : len(raw)-1])
	if fault == nil {
		fault = Check(s, shape)
	}
	if fault == nil {
		return nil
	}
	return &JSONFault{Path: Visible(string(w.path)), Fault: fault}
}

// unquote reads the escapes between the quotes of a JSON string. Half of a surrogate pair is a fault, because it is not
// a character.
func unquote(raw []byte) (string, *Fault) {
	if bytes.IndexByte(raw, '\\') < 0 {
		return string(raw), nil
	}
	out := make([]byte, 0, len(raw))
	for i := 0; i < len(raw); i++ {
		if raw[i] != '\\' || i+1 >= len(raw) {
			out = append(out, raw[i])
			continue
		}
		i++
		if at := strings.IndexByte("bfnrt", raw[i]); at >= 0 {
			out = append(out, "\b\f\n\r\t"[at])
			continue
		}
		if raw[i] != 'u' {
			out = append(out, raw[i])
			continue
		}
		r := hex4(raw[i+1:])
		i += 4
		if utf16.IsSurrogate(r) {
			low := rune(-1)
			if bytes.HasPrefix(raw[min(i+1, len(raw)):], []byte(`\u`)) {
				low = hex4(raw[i+3:])
			}
			pair := utf16.DecodeRune(r, low)
			if pair == utf8.RuneError {
				return "", faultAt(string(out), len(out), Name(r), false)
			}
			r = pair
			i += 6
		}
		out = utf8.AppendRune(out, r)
	}
	return string(out), nil
}

// hex4 reads the four digits of an escape. The decoder has checked them.
func hex4(b []byte) rune {
	n, err := strconv.ParseUint(string(b[:min(4, len(b))]), 16, 32)
	if err != nil {
		return -1
	}
	return rune(n) //nolint:gosec // four hexadecimal digits
}
