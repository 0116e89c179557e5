package sqldb

import (
	"fmt"
	"strings"
	"time"

	"tallyman/rules/row"
	"tallyman/scanners"
)

// The conversions of drivers that return Go's own types: bool, int64, float64, texts for decimals, times. Each is a Convert;
// what comes as another type means that the column has become another.

// Retyped is the error of a column that comes as another type than was described.
func Retyped(src any, kind row.Kind) error {
	return scanners.Changed(fmt.Errorf("a column that was %s comes as a %T", kind, src))
}

// TextOf is the value as a text of its own, which is valid as long as anybody wants.
func TextOf(src any) (string, bool) {
	switch v := src.(type) {
	case string:
		return v, true
	case []byte:
		return string(v), true
	}
	return "", false
}

// ToBool converts a bool.
func ToBool(dst *row.Value, src any, _ *Texts) error {
	b, ok := src.(bool)
	if !ok {
		return Retyped(src, row.Bool)
	}
	*dst = row.BoolOf(b)
	return nil
}

// ToInt converts an int64.
func ToInt(dst *row.Value, src any, _ *Texts) error {
	n, ok := src.(int64)
	if !ok {
		return Retyped(src, row.Int)
	}
	*dst = row.IntOf(n)
	return nil
}

// ToFloat converts a float64 or float32.
func ToFloat(dst *row.Value, src any, _ *Texts) error {
	switch v := src.(type) {
	case float64:
		*dst = row.FloatOf(v)
	case float32:
		*dst = row.FloatOf(float64(v))
	default:
		return Retyped(src, row.Float)
	}
	return nil
}

// ToDecimal converts a text of digits.
func ToDecimal(dst *row.Value, src any, _ *Texts) error {
	text, ok := TextOf(src)
	if !ok {
		return Retyped(src, row.Decimal)
	}
	d, err := row.ParseDecimal(text)
	if err != nil {
		return Retyped(src, row.Decimal)
	}
	*dst = d
	return nil
}

// ToText converts a text.
func ToText(dst *row.Value, src any, _ *Texts) error {
	text, ok := TextOf(src)
	if !ok {
		return Retyped(src, row.Text)
	}
	*dst = row.TextOf(text)
	return nil
}

// ToChar converts a text without its padding, which databases do not count when they compare CHARs either.
func ToChar(dst *row.Value, src any, _ *Texts) error {
	text, ok := TextOf(src)
	if !ok {
		return Retyped(src, row.Text)
	}
	*dst = row.TextOf(strings.TrimRight(text, " "))
	return nil
}

// ToBytes converts bytes.
func ToBytes(dst *row.Value, src any, texts *Texts) error {
	b, ok := src.([]byte)
	if !ok {
		return Retyped(src, row.Bytes)
	}
	*dst = row.BytesOf(texts.Keep(b))
	return nil
}

// ToInstant converts a time that knows its zone.
func ToInstant(dst *row.Value, src any, _ *Texts) error {
	t, ok := src.(time.Time)
	if !ok {
		return Retyped(src, row.Time)
	}
	*dst = row.TimeOf(t.UTC())
	return nil
}

// ToLocal converts a time without a zone: what its clock shows, at the place. Whatever zone the driver puts to it does not count.
func ToLocal(place *time.Location) Convert {
	return func(dst *row.Value, src any, _ *Texts) error {
		t, ok := src.(time.Time)
		if !ok {
			return Retyped(src, row.Time)
		}
		*dst = row.TimeOf(row.At(t, place).UTC())
		return nil
	}
}

// Plain makes of a parameter's value what every driver takes: nil, bool, int64, float64, []byte, and the text of everything else.
// What a database reads in a form of its own, its Dialect binds.
func Plain(v row.Value) any {
	switch v.Kind() {
	case row.Null:
		return nil
	case row.Bool:
		return v.Bool()
	case row.Int:
		return v.Int()
	case row.Float:
		return v.Float()
	case row.Bytes:
		return []byte(v.Text())
	default:
		return v.String()
	}
}
