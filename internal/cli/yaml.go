package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"

	"go.yaml.in/yaml/v3"

	"tallyman/internal/text"
)

// writeYAML goes through JSON, so that both have the same names and values. It takes JSON's own tokens: a reader of YAML stumbles over raw control
// characters and over the escapes of surrogate pairs.
func writeYAML(w io.Writer, v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	dec := json.NewDecoder(bytes.NewReader(b))
	dec.UseNumber()
	n, err := yamlValue(dec)
	if err != nil {
		return err
	}
	var out bytes.Buffer
	enc := yaml.NewEncoder(&out)
	enc.SetIndent(2)
	if err := enc.Encode(n); err != nil {
		return err
	}
	if err := enc.Close(); err != nil {
		return err
	}
	// What the encoder takes for printable and no text may have stands in double quotes by now, where it can be escaped.
	_, err = w.Write(text.EscapeJSON(out.Bytes()))
	return err
}

// yamlValue reads the next value.
func yamlValue(dec *json.Decoder) (*yaml.Node, error) {
	token, err := dec.Token()
	if err != nil {
		return nil, err
	}
	switch t := token.(type) {
	case json.Delim:
		return yamlList(dec, t)
	case string:
		return yamlText(t), nil
	case json.Number:
		return &yaml.Node{Kind: yaml.ScalarNode, Value: t.String()}, nil
	case bool:
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!bool", Value: fmt.Sprint(t)}, nil
	case nil:
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!null", Value: "null"}, nil
	}
	return nil, errors.New("this is no JSON")
}

// yamlList reads a list or a map, whose bracket was read. One that is empty keeps its brackets.
func yamlList(dec *json.Decoder, bracket json.Delim) (*yaml.Node, error) {
	n := &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq"}
	if bracket == '{' {
		n.Kind, n.Tag = yaml.MappingNode, "!!map"
	}
	for dec.More() {
		item, err := yamlValue(dec)
		if err != nil {
			return nil, err
		}
		n.Content = append(n.Content, item)
	}
	if len(n.Content) == 0 {
		n.Style = yaml.FlowStyle
	}
	_, err := dec.Token()
	return n, err
}

// oldYAML is what YAML 1.1 takes for something else: booleans, numbers of base 60, and the value =.
var oldYAML = regexp.MustCompile(`^(?i:y|n|yes|no|on|off|=|[-+]?[0-9][0-9_]*(:[0-5]?[0-9])+(\.[0-9_]*)?)$`)

// yamlText is a text. Those that have what no text may have, or what readers of YAML take for a line break, stand in double quotes. So do
// those that are no texts to readers of YAML 1.1.
func yamlText(s string) *yaml.Node {
	n := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: s}
	if oldYAML.MatchString(s) || text.Check(s, text.Lines) != nil || strings.ContainsAny(s, "\r\t\u2028\u2029\ufeff\ufffe\uffff") {
		n.Style = yaml.DoubleQuotedStyle
	}
	return n
}
