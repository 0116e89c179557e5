package row

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/cockroachdb/apd/v3"
)

// String returns the value as a text for templates and messages. Decimals are exact, times are RFC 3339 in UTC, dates
// are 2006-01-02, bytes are hex, and NULL is "". The text is always valid UTF-8.
func (v Value) String() string {
	switch v.kind {
	case Text, JSON:
		return strings.ToValidUTF8(v.str, "\uFFFD")
	case Bool:
		return strconv.FormatBool(v.Bool())
	default:
		var buf [48]byte
		return string(v.appendText(buf[:0]))
	}
}

// appendText appends the text that String returns, for all kinds except Bool, Text and JSON.
func (v Value) appendText(dst []byte) []byte {
	switch v.kind {
	case Int:
		return strconv.AppendInt(dst, v.num, 10)
	case Float:
		return appendFloat(dst, v.flt)
	case Decimal:
		return v.appendDecimal(dst)
	case Bytes:
		return hex.AppendEncode(dst, []byte(v.str))
	case Time:
		return v.Time().AppendFormat(dst, time.RFC3339Nano)
	case Date:
		return v.Time().AppendFormat(dst, time.DateOnly)
	case Duration:
		return append(dst, v.Duration().String()...)
	default:
		return dst
	}
}

// appendFloat appends the shortest text that gives f when it is read. It uses plain digits where these are short
// enough.
func appendFloat(dst []byte, f float64) []byte {
	switch {
	case f == 0:
		return append(dst, '0') // not -0
	case math.IsInf(f, 0):
		return appendBig(dst, &apd.Decimal{Form: apd.Infinite, Negative: f < 0})
	}
	if abs := max(f, -f); abs >= 1e-6 && abs < 1e21 {
		return strconv.AppendFloat(dst, f, 'f', -1, 64)
	}
	return strconv.AppendFloat(dst, f, 'g', -1, 64)
}

func (v Value) appendDecimal(dst []byte) []byte {
	if v.big != nil {
		return appendBig(dst, v.big)
	}
	if v.scale == 0 {
		return strconv.AppendInt(dst, v.num, 10)
	}
	if v.num < 0 {
		dst = append(dst, '-')
	}
	var buf [20]byte
	return appendPoint(dst, strconv.AppendUint(buf[:0], magnitude(v.num), 10), int(v.scale))
}

// appendPoint appends the digits, with the last scale digits after the point.
func appendPoint(dst, digits []byte, scale int) []byte {
	if n := len(digits) - scale; n > 0 {
		dst = append(dst, digits[:n]...)
		dst = append(dst, '.')
		return append(dst, digits[n:]...)
	}
	dst = append(dst, '0', '.')
	for range scale - len(digits) {
		dst = append(dst, '0')
	}
	return append(dst, digits...)
}

// appendBig appends plain digits and never an exponent, because a key must not depend on how a number was written.
func appendBig(dst []byte, d *apd.Decimal) []byte {
	switch d.Form {
	case apd.Infinite:
		if d.Negative {
			dst = append(dst, '-')
		}
		return append(dst, "Infinity"...)
	case apd.NaN, apd.NaNSignaling:
		return append(dst, "NaN"...)
	default:
		if d.IsZero() {
			return Value{kind: Decimal, scale: max(-d.Exponent, 0)}.appendDecimal(dst) // avoids -0 and 00
		}
		return d.Append(dst, 'f')
	}
}

// encodedValue is the form of a value in the ledger: its kind and its text. The form keeps the kind and the exact
// value.
type encodedValue struct {
	Kind   string `json:"kind"`
	Value  string `json:"value,omitempty"`
	Base64 bool   `json:"base64,omitempty"` // Value is base64, because the bytes are not UTF-8.
}

// MarshalJSON writes the kind and the exact value. UnmarshalJSON is its inverse. The ledger keeps watermarks in this
// form.
func (v Value) MarshalJSON() ([]byte, error) {
	e := encodedValue{Kind: v.kind.String()}
	switch v.kind {
	case Null:
	case Text, Bytes, JSON:
		e.Value, e.Base64 = v.str, v.kind == Bytes || !utf8.ValidString(v.str)
		if e.Base64 {
			e.Value = base64.StdEncoding.EncodeToString([]byte(v.str))
		}
	case Float:
		e.Value = strconv.FormatFloat(v.flt, 'g', -1, 64)
	case Time:
		// Not RFC 3339, because it ends with the year 9999. Databases have later times.
		e.Value = fmt.Sprintf("%d.%09d", v.num, v.scale)
	case Date, Duration:
		e.Value = strconv.FormatInt(v.num, 10)
	default:
		e.Value = v.String()
	}
	return json.Marshal(e)
}

// UnmarshalJSON reads the form that MarshalJSON writes.
func (v *Value) UnmarshalJSON(data []byte) error {
	var e encodedValue
	if err := json.Unmarshal(data, &e); err != nil {
		return fmt.Errorf("value: %w", err)
	}
	kind, ok := kindOf(e.Kind)
	if !ok {
		return fmt.Errorf("value: unknown kind %q", e.Kind)
	}
	if e.Base64 {
		raw, err := base64.StdEncoding.DecodeString(e.Value)
		if err != nil {
			return fmt.Errorf("value of kind %s: %w", kind, err)
		}
		e.Value = string(raw)
	}
	read, err := parseAs(kind, e.Value)
	if err != nil {
		return fmt.Errorf("value of kind %s: %w", kind, err)
	}
	*v = read
	return nil
}

func parseAs(kind Kind, s string) (Value, error) {
	switch kind {
	case Null:
		return Value{}, nil
	case Text, Bytes, JSON:
		return Value{kind: kind, str: s}, nil
	case Bool:
		b, err := strconv.ParseBool(s)
		return BoolOf(b), err
	case Float:
		f, err := strconv.ParseFloat(s, 64)
		return FloatOf(f), err
	case Decimal:
		return ParseDecimal(s)
	case Time:
		return parseInstant(s)
	default: // Int, Date, Duration
		n, err := strconv.ParseInt(s, 10, 64)
		return Value{kind: kind, num: n}, err
	}
}

func parseInstant(s string) (Value, error) {
	const nanoDigits = 9
	if len(s) < nanoDigits+2 {
		return Value{}, fmt.Errorf("%q is not an instant", clip(s))
	}
	point := len(s) - nanoDigits - 1
	seconds, err := strconv.ParseInt(s[:point], 10, 64)
	if err != nil || s[point] != '.' {
		return Value{}, fmt.Errorf("%q is not an instant", clip(s))
	}
	nanos, err := strconv.ParseUint(s[point+1:], 10, 32)
	if err != nil || nanos >= uint64(time.Second) || nanos > math.MaxInt32 {
		return Value{}, fmt.Errorf("%q is not an instant", clip(s))
	}
	return Value{kind: Time, num: seconds, scale: int32(nanos)}, nil
}

// Interface returns the value for code that does not know kinds: nil, bool, int64, float64, string (Text, JSON, and an
// exact Decimal), []byte, time.Time (Time, Date) or time.Duration. It copies texts.
func (v Value) Interface() any {
	switch v.kind {
	case Bool:
		return v.Bool()
	case Int:
		return v.num
	case Float:
		return v.flt
	case Decimal:
		return v.String()
	case Text, JSON:
		return string([]byte(v.str))
	case Bytes:
		return []byte(v.str)
	case Time, Date:
		return v.Time()
	case Duration:
		return v.Duration()
	default:
		return nil
	}
}
