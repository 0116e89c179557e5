package api

import (
	"errors"
	"time"

	"github.com/danielgtaylor/huma/v2"

	policy "tallyman/internal/text"
	"tallyman/internal/wire"
	"tallyman/rules/strictyaml"
)

// Flag is a query's test=, read as text so that a bad one gets the code that it has everywhere.
type Flag string

// Schema says what the text has to be.
func (Flag) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{Type: huma.TypeBoolean, Default: false}
}

// Parse reads the flag; name is that of its parameter.
func (f Flag) Parse(name string) (bool, *wire.Problem) {
	switch f {
	case "", "false":
		return false, nil
	case "true":
		return true, nil
	}
	return false, BadParameter(name + " " + policy.Quote(string(f)) + " is neither true nor false")
}

// ParseSpan reads a duration that is not negative; "" is 0.
func ParseSpan(s string) (time.Duration, error) {
	if s == "" {
		return 0, nil
	}
	d, err := strictyaml.ParseDuration(s)
	if err == nil && d < 0 {
		err = errors.New("it cannot be negative")
	}
	return d, err
}

// Optional is a parameter that may be left out: nil for "".
func Optional(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}
