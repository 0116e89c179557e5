package row

import (
	"bytes"
	"encoding/json"
	"strings"
	"unicode/utf8"

	"github.com/cockroachdb/apd/v3"
)

// AppendKey appends the value's canonical JSON, the form that makes the identity of a finding: equal
// values give equal bytes, whatever their scale, zone or padding. Decimals lose their trailing zeros, so
// that an Int and a Decimal of one value are alike; times are in UTC; a text loses its trailing spaces,
// which are the padding of CHAR; bytes are hex; NULL is null. The bytes are valid UTF-8.
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
		return appendString(dst, strings.TrimRight(v.str, " "))
	case JSON:
		return appendJSON(dst, v.str)
	default:
		dst = append(dst, '"')
		return append(v.appendText(dst), '"')
	}
}

// reduced is the Decimal without trailing zeros after the point.
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

// appendNumber quotes what JSON has no number for: NaN and the infinities.
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

// appendJSON writes a JSON value with sorted keys and without spaces. What is no JSON is a text.
func appendJSON(dst []byte, s string) []byte {
	dec := json.NewDecoder(strings.NewReader(s))
	dec.UseNumber()
	var x any
	if err := dec.Decode(&x); err != nil || dec.More() {
		return appendString(dst, s)
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(x); err != nil {
		return appendString(dst, s)
	}
	return append(dst, bytes.TrimRight(b.Bytes(), "\n")...)
}

const hexDigits = "0123456789abcdef"

// appendString writes a JSON string with the fewest escapes; bytes that are no UTF-8 become U+FFFD.
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
			dst = utf8.AppendRune(dst, r)
			i += size
			continue
		}
		i++
	}
	return append(dst, '"')
}
