package jsonschema

import (
	"bytes"
	"encoding/json"
)

// Draft is the dialect of the schemas.
const Draft = "http://json-schema.org/draft-07/schema#"

// Schema is one schema, or a part of one. An empty one takes anything.
type Schema struct {
	Schema               string             `json:"$schema,omitempty"`
	Title                string             `json:"title,omitempty"`
	Description          string             `json:"description,omitempty"`
	Ref                  string             `json:"$ref,omitempty"`
	Type                 Types              `json:"type,omitempty"`
	Enum                 []string           `json:"enum,omitempty"`
	Pattern              string             `json:"pattern,omitempty"`
	MinLength            int                `json:"minLength,omitempty"`
	Minimum              *int64             `json:"minimum,omitempty"`
	Maximum              *int64             `json:"maximum,omitempty"`
	Default              any                `json:"default,omitempty"`
	Items                *Schema            `json:"items,omitempty"`
	Required             []string           `json:"required,omitempty"`
	Properties           Properties         `json:"properties,omitempty"`
	PropertyNames        *Schema            `json:"propertyNames,omitempty"`
	AdditionalProperties *Schema            `json:"additionalProperties,omitempty"`
	MinProperties        int                `json:"minProperties,omitempty"`
	Definitions          map[string]*Schema `json:"definitions,omitempty"`

	nothing bool
}

// Nothing takes no value at all.
func Nothing() *Schema { return &Schema{nothing: true} }

// MarshalJSON writes Nothing as false, as JSON Schema does.
func (s *Schema) MarshalJSON() ([]byte, error) {
	if s.nothing {
		return []byte("false"), nil
	}
	type plain Schema // without this method
	return encode((*plain)(s))
}

// Types are the kinds of values that a schema takes: string, integer, number, boolean, null, object, array.
type Types []string

// MarshalJSON writes a single type as a text.
func (t Types) MarshalJSON() ([]byte, error) {
	if len(t) == 1 {
		return json.Marshal(t[0])
	}
	return json.Marshal([]string(t))
}

// Properties are the fields of an object, in the order in which they are written.
type Properties []Property

// Property is one of them.
type Property struct {
	Name   string
	Schema *Schema
}

// Get returns the field with that name, or nil.
func (p Properties) Get(name string) *Schema {
	for _, f := range p {
		if f.Name == name {
			return f.Schema
		}
	}
	return nil
}

// MarshalJSON keeps the order.
func (p Properties) MarshalJSON() ([]byte, error) {
	b := []byte{'{'}
	for i, f := range p {
		name, err := json.Marshal(f.Name)
		if err != nil {
			return nil, err
		}
		value, err := encode(f.Schema)
		if err != nil {
			return nil, err
		}
		if i > 0 {
			b = append(b, ',')
		}
		b = append(append(append(b, name...), ':'), value...)
	}
	return append(b, '}'), nil
}

// encode is json.Marshal that leaves < and > as they are.
func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
}

// Text is the schema as a file.
func (s *Schema) Text() ([]byte, error) {
	compact, err := encode(s)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	err = json.Indent(&b, compact, "", "  ")
	return append(b.Bytes(), '\n'), err
}
