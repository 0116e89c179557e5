package config

import "log/slog"

const redacted = "***"

// Secret is a text that must not be shown: it prints as *** wherever it is formatted, logged or encoded. The text is
// behind a pointer, so that not even a format that ignores methods reaches it.
type Secret struct{ text *string }

// NewSecret hides the text.
func NewSecret(text string) Secret { return Secret{&text} }

// Reveal returns the text, for the one who needs it.
func (s Secret) Reveal() string {
	if s.text == nil {
		return ""
	}
	return *s.text
}

// String is *** or, where there is nothing to hide, empty.
func (s Secret) String() string {
	if s.Reveal() == "" {
		return ""
	}
	return redacted
}

// GoString is String: %#v shows no more than %v.
func (s Secret) GoString() string { return s.String() }

// MarshalText is String, for JSON, XML and YAML.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// LogValue is String, for slog.
func (s Secret) LogValue() slog.Value { return slog.StringValue(s.String()) }
