package row

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"time"
	"unicode/utf8"
)

// encoded is a value in the ledger: its kind and its text, so that it comes back as what it was.
type encoded struct {
	Kind   string `json:"kind"`
	Value  string `json:"value,omitempty"`
	Base64 bool   `json:"base64,omitempty"` // Value holds bytes that are no UTF-8
}

// MarshalJSON keeps kind and exact value; UnmarshalJSON is its inverse. Watermarks are kept so.
func (v Value) MarshalJSON() ([]byte, error) {
	e := encoded{Kind: v.kind.String()}
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
		// RFC 3339 ends with the year 9999; databases do not.
		e.Value = fmt.Sprintf("%d.%09d", v.num, v.scale)
	case Date, Duration:
		e.Value = strconv.FormatInt(v.num, 10)
	default:
		e.Value = v.String()
	}
	return json.Marshal(e)
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (v *Value) UnmarshalJSON(data []byte) error {
	var e encoded
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

// Interface returns the value for a boundary that knows no kinds: nil, bool, int64, float64, string (Text,
// JSON, and a Decimal exactly), []byte, time.Time (Time, Date) or time.Duration. Texts are copied.
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
