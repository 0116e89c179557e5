package settings

import (
	"log/slog"

	"tallyman/rules/strictyaml"
)

const redacted = "***"

// Secret is a text that must not be shown. It prints as *** wherever it is formatted, logged or encoded. The text is
// behind a pointer, so that even a format that ignores methods cannot print it.
type Secret struct{ text *string }

// NewSecret hides the text.
func NewSecret(text string) Secret { return Secret{&text} }

// Reveal returns the text. Only the code that uses the secret may call it.
func (s Secret) Reveal() string {
	if s.text == nil {
		return ""
	}
	return *s.text
}

// String returns ***, and "" for an empty secret.
func (s Secret) String() string {
	if s.Reveal() == "" {
		return ""
	}
	return redacted
}

// GoString is String, so that %#v shows no more than %v.
func (s Secret) GoString() string { return s.String() }

// MarshalText is String, for JSON, XML and YAML.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// LogValue is String, for slog.
func (s Secret) LogValue() slog.Value { return slog.StringValue(s.String()) }

// Takes says what a secret may be.
func (s Secret) Takes() string { return "a text, or file:PATH" }

// DecodeYAML reads a text, or the content of the file that it names. No problem shows the text.
func (s *Secret) DecodeYAML(d *strictyaml.Decoder, name string, n *strictyaml.Node) {
	if n.Kind == strictyaml.Scalar && n.Origin == "" && n.Tag != "!!str" && !n.IsNull() {
		d.Fail(n, strictyaml.CodeType, name+" takes a text", "put it in quotes")
		return
	}
	if text, ok := siteOf(d).Secret(d, name, n); ok {
		*s = NewSecret(text)
	}
}

// Secrets are several secrets, written as one text or as a list.
type Secrets []Secret

// Takes says what secrets may be.
func (s Secrets) Takes() string { return Secret{}.Takes() + ", or a list of these" }

// DecodeYAML reads one secret or a list of them.
func (s *Secrets) DecodeYAML(d *strictyaml.Decoder, name string, n *strictyaml.Node) {
	if n.Kind == strictyaml.Sequence {
		d.Value(name, n, (*[]Secret)(s))
		return
	}
	var one Secret
	d.Value(name, n, &one)
	*s = Secrets{one}
}
