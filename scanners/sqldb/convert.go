package sqldb

import (
	"fmt"
	"strings"
	"time"

	"tallyman/rules/row"
	"tallyman/scanners"
)

// Conversions for drivers that return Go's own types: bool, int64, float64, texts for decimals, times. Each is a
// Convert. A value of another type means that the column has changed.

// Retyped returns the error of a column whose values have another type than the described one.
func Retyped(src any, kind row.Kind) error {
	return scanners.Changed(fmt.Errorf("described as %s, but the value has the Go type %T", kind, src))
}

// TextOf returns a text value. The string stays valid.
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

// ToDecimal converts a decimal that is a text.
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

// ToChar converts a text, and removes its padding. Databases ignore the padding, too, when they compare CHARs.
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

// ToInstant converts a time that has a zone.
func ToInstant(dst *row.Value, src any, _ *Texts) error {
	t, ok := src.(time.Time)
	if !ok {
		return Retyped(src, row.Time)
	}
	*dst = row.TimeOf(t.UTC())
	return nil
}

// ToLocal converts a time without a zone. ToLocal takes the date and clock time, and ignores the zone that the driver
// adds.
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

// Plain converts the value of a parameter to a type that every driver takes: nil, bool, int64, float64, []byte, or a
// text for everything else. A Dialect binds the values that its database needs in a form of its own.
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
