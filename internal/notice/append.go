package notice

import (
	"maps"
	"slices"
	"strconv"
	"time"
	"unicode/utf8"

	"tallyman/internal/text"
)

// MarshalJSON writes the form for clients.
func (n *Notice) MarshalJSON() ([]byte, error) {
	b, ok := n.appendJSON(make([]byte, 0, n.roughly()))
	if !ok {
		b, err := encode(n.Form())
		return text.EscapeJSON(b), err
	}
	return append(b, '}'), nil
}

// MarshalJSON writes the form for this reader.
func (v View) MarshalJSON() ([]byte, error) {
	b, ok := v.appendJSON(make([]byte, 0, v.roughly()))
	if !ok {
		b, err := encode(v.Form())
		return text.EscapeJSON(b), err
	}
	b = strconv.AppendBool(append(b, `,"read":`...), v.Read)
	b = strconv.AppendBool(append(b, `,"acked":`...), v.Acked)
	return append(b, '}'), nil
}

// roughly estimates how many bytes the JSON needs.
func (n *Notice) roughly() int {
	return 640 + len(n.Title) + len(n.Body) + len(n.Key) + 48*(len(n.Data)+len(n.Labels))
}

// appendJSON writes the same JSON as encode of the Form, but without the final brace. It needs a sixth of the time, and
// a notice is encoded for each webhook and each page. For unusual values it returns ok = false. The caller then uses
// encode, which also has the right errors.
func (n *Notice) appendJSON(b []byte) (_ []byte, ok bool) {
	b = appendText(append(b, `{"id":`...), n.ID)
	b = appendText(append(b, `,"type":`...), n.Type)
	b = strconv.AppendInt(append(b, `,"typeId":`...), n.TypeID, 10)
	b = appendText(append(b, `,"warehouse":`...), n.Warehouse)
	b = appendText(append(b, `,"rule":`...), n.Rule)
	b = appendText(append(b, `,"scope":`...), n.Scope)
	b = appendText(append(b, `,"key":`...), n.Key)
	b = appendText(append(b, `,"episode":`...), n.Episode)
	b = appendText(append(b, `,"status":`...), string(n.Status))
	b = strconv.AppendInt(append(b, `,"priority":`...), int64(n.Priority), 10)
	if n.Order != "" {
		b = appendText(append(b, `,"order":`...), n.Order)
	}
	b = appendText(append(b, `,"modal":`...), n.Modal)
	b = appendText(append(b, `,"title":`...), n.Title)
	b = appendText(append(b, `,"body":`...), n.Body)
	if b, ok = appendData(append(b, `,"data":`...), n.Data); !ok {
		return nil, false
	}
	b = appendLabels(append(b, `,"labels":`...), n.Labels)
	b = strconv.AppendInt(append(b, `,"count":`...), int64(n.Count), 10)
	if b, ok = appendTime(append(b, `,"createdAt":`...), n.CreatedAt); !ok {
		return nil, false
	}
	b = strconv.AppendInt(append(b, `,"createTime":`...), n.CreatedAt.UnixMilli(), 10)
	b = strconv.AppendInt(append(b, `,"expireTime":`...), int64(n.ExpiresAt.Sub(n.CreatedAt)/time.Second), 10)
	return appendTime(append(b, `,"expiresAt":`...), n.ExpiresAt)
}

func appendData(b []byte, data []Field) (_ []byte, ok bool) {
	b = append(b, '{')
	for i := range data {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(appendText(b, data[i].Name), ':')
		switch v := data[i].Value.(type) {
		case nil:
			b = append(b, "null"...)
		case string:
			b = appendText(b, v)
		case int64:
			b = strconv.AppendInt(b, v, 10)
		case bool:
			b = strconv.AppendBool(b, v)
		default:
			return nil, false
		}
	}
	return append(b, '}'), true
}

func appendLabels(b []byte, labels map[string]string) []byte {
	b = append(b, '{')
	for i, name := range slices.Sorted(maps.Keys(labels)) {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(appendText(b, name), ':')
		b = appendText(b, labels[name])
	}
	return append(b, '}')
}

// appendTime returns ok = false for a year that RFC 3339 cannot write.
func appendTime(b []byte, t time.Time) (_ []byte, ok bool) {
	b, err := t.UTC().AppendText(append(b, '"'))
	return append(b, '"'), err == nil
}

const hexDigits = "0123456789abcdef"

// appendText writes a JSON string. As encoding/json does, it escapes the two line separators that JavaScript does not
// allow in a string, and invalid UTF-8 becomes U+FFFD. It also escapes characters that the policy of texts refuses,
// so that a reader may show the JSON as it is.
func appendText(b []byte, s string) []byte {
	b = append(b, '"')
	start := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c >= ' ' && c < 0x7f && c != '"' && c != '\\' {
			i++
			continue
		}
		r, size := rune(c), 1
		if c >= utf8.RuneSelf {
			r, size = utf8.DecodeRuneInString(s[i:])
		}
		if c < utf8.RuneSelf || r == '\u2028' || r == '\u2029' || r == utf8.RuneError && size == 1 || text.Refused(r) {
			b = appendEscaped(append(b, s[start:i]...), r)
			start = i + size
		}
		i += size
	}
	return append(append(b, s[start:]...), '"')
}

func appendEscaped(b []byte, r rune) []byte {
	switch r {
	case '"', '\\':
		return append(b, '\\', byte(r))
	case '\b':
		return append(b, '\\', 'b')
	case '\f':
		return append(b, '\\', 'f')
	case '\n':
		return append(b, '\\', 'n')
	case '\r':
		return append(b, '\\', 'r')
	case '\t':
		return append(b, '\\', 't')
	default:
		return append(b, '\\', 'u', hexDigits[r>>12&15], hexDigits[r>>8&15], hexDigits[r>>4&15], hexDigits[r&15])
	}
}
