package row

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/cockroachdb/apd/v3"
)

// AppendKey appends the canonical JSON of the value, for the keys of findings. Equal values give equal bytes, whatever
// their scale, zone or padding:
//
//   - Decimals lose the trailing zeros after the point, so that an Int and a Decimal with one value have the same key.
//   - Times are in UTC. Bytes are hex. NULL is null.
//   - A text loses its trailing spaces, because databases pad CHAR columns with spaces. A JSON value that is a text has
//     the same key as the text.
//
// The bytes are valid UTF-8. A byte of a text that is not UTF-8 becomes an escape that no text has, such as \udcff for
// the byte 0xFF. So two texts have the same key only if they differ in nothing but trailing spaces. KeyText reads the
// escapes back.
func (v Value) AppendKey(dst []byte) []byte {
	switch v.kind {
	case Null:
		return append(dst, "null"...)
	case Bool:
		if v.Bool() {
			return append(dst, "true"...)
		}
		return append(dst, "false"...)
	case Int:
		return v.appendText(dst)
	case Decimal:
		return v.reduced().appendNumber(dst)
	case Float:
		return v.appendNumber(dst)
	case Text:
		return appendPadded(dst, v.str)
	case JSON:
		return appendJSON(dst, v.str)
	default:
		dst = append(dst, '"')
		return append(v.appendText(dst), '"')
	}
}

// reduced returns the Decimal without trailing zeros after the point.
func (v Value) reduced() Value {
	if v.big != nil {
		if v.big.Form != apd.Finite {
			return v
		}
		d, _ := new(apd.Decimal).Reduce(v.big)
		return NormalDecimalOf(d)
	}
	for v.scale > 0 && v.num%10 == 0 {
		v.num /= 10
		v.scale--
	}
	return v
}

// appendNumber appends a number. It quotes NaN and the infinities, because JSON has no numbers for them.
func (v Value) appendNumber(dst []byte) []byte {
	start := len(dst)
	dst = v.appendText(dst)
	if c := dst[len(dst)-1]; c >= '0' && c <= '9' {
		return dst
	}
	word := string(dst[start:])
	dst = append(dst[:start], '"')
	dst = append(dst, word...)
	return append(dst, '"')
}

// appendPadded appends a text as a JSON string, without its trailing spaces.
func appendPadded(dst []byte, s string) []byte { return appendString(dst, strings.TrimRight(s, " ")) }

// appendJSON appends a JSON value with sorted keys and without spaces. It appends a value that is not JSON as a text.
func appendJSON(dst []byte, s string) []byte {
	dec := json.NewDecoder(strings.NewReader(s))
	dec.UseNumber()
	var x any
	if err := dec.Decode(&x); err != nil || dec.More() {
		return appendPadded(dst, s)
	}
	if text, ok := x.(string); ok && !replaced(s, []byte(text)) {
		return appendPadded(dst, text)
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(x); err != nil || replaced(s, b.Bytes()) {
		return appendPadded(dst, s)
	}
	return append(dst, bytes.TrimRight(b.Bytes(), "\n")...)
}

// replaced tells whether the decoder has replaced some bytes by U+FFFD. Two different values could then have the same
// key.
func replaced(before string, after []byte) bool {
	const mark = "\uFFFD"
	n := bytes.Count(after, []byte(mark))
	return n > 0 && n > strings.Count(before, mark)+strings.Count(strings.ToLower(before), `\ufffd`)
}

const hexDigits = "0123456789abcdef"

// appendString appends a JSON string with as few escapes as possible. A byte that is not UTF-8 becomes half of a
// surrogate pair, from U+DC80 to U+DCFF, as in Python's surrogateescape.
func appendString(dst []byte, s string) []byte {
	dst = append(dst, '"')
	for i := 0; i < len(s); {
		c := s[i]
		switch {
		case c == '"' || c == '\\':
			dst = append(dst, '\\', c)
		case c < ' ':
			dst = append(dst, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
		case c < utf8.RuneSelf:
			dst = append(dst, c)
		default:
			r, size := utf8.DecodeRuneInString(s[i:])
			if r == utf8.RuneError && size == 1 {
				dst = append(dst, `\udc`...)
				dst = append(dst, hexDigits[c>>4], hexDigits[c&15])
			} else {
				dst = utf8.AppendRune(dst, r)
			}
			i += size
			continue
		}
		i++
	}
	return append(dst, '"')
}

// CanonicalKey rewrites the texts of a key to the form of AppendKey. Other values stay as written. A user may write
// characters of a key as escapes, because some characters cannot be shown or typed. It returns false where the text is
// not a JSON array.
func CanonicalKey(key string) (string, bool) {
	var parts []json.RawMessage
	if !strings.HasPrefix(key, "[") || json.Unmarshal([]byte(key), &parts) != nil {
		return "", false
	}
	out := []byte{'['}
	for i, part := range parts {
		if i > 0 {
			out = append(out, ',')
		}
		if s, ok := KeyText(string(part)); ok {
			out = TextOf(s).AppendKey(out)
		} else {
			out = append(out, part...)
		}
	}
	return string(append(out, ']')), true
}

// KeyText reads a text of a key, which is a JSON string with its quotes. It is the inverse of AppendKey for texts. It
// returns false where the text is not a JSON string.
func KeyText(quoted string) (string, bool) {
	if !strings.HasPrefix(quoted, `"`) { // json.Unmarshal reads null into a string, too
		return "", false
	}
	var out strings.Builder
	for rest := quoted; ; {
		at := escapedByte(rest)
		if at < 0 {
			at = len(rest)
		}
		part := rest[:at]
		if len(rest) < len(quoted) {
			part = `"` + part
		}
		if at < len(rest) {
			part += `"`
		}
		var words string
		if json.Unmarshal([]byte(part), &words) != nil {
			return "", false
		}
		out.WriteString(words)
		if at == len(rest) {
			return out.String(), true
		}
		b, err := strconv.ParseUint(rest[at+4:at+6], 16, 8)
		if err != nil {
			return "", false
		}
		out.WriteByte(byte(b))
		rest = rest[at+6:]
	}
}

// escapedByte returns the offset of the first escape from \udc80 to \udcff, which is a byte that is not UTF-8, or -1.
// After the first half of a surrogate pair, such an escape is the second half and does not count.
func escapedByte(s string) int {
	for i := 0; i+1 < len(s); i++ {
		if s[i] != '\\' {
			continue
		}
		escape := strings.ToLower(s[i:min(i+6, len(s))])
		switch {
		case len(escape) == 6 && escape[:4] == `\udc` && escape[4] >= '8':
			return i
		case len(escape) == 6 && escape[:3] == `\ud` && escape[3] >= '8' && escape[3] <= 'b':
			i += 5
			if strings.HasPrefix(strings.ToLower(s[i+1:]), `\ud`) { // probably the second half
				i += 6
			}
		default:
			i++
		}
	}
	return -1
}
