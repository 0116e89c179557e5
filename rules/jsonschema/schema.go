package jsonschema

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strconv"
	"strings"
	"time"

	"tallyman/rules/strictyaml"
)

// Draft is the dialect of the schemas.
const Draft = "http://json-schema.org/draft-07/schema#"

// Schema is a schema or a part of a schema. The zero value takes any value.
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

// MarshalJSON writes Nothing as false, which is its form in JSON Schema.
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

// Property is one field of an object.
type Property struct {
	Name   string
	Schema *Schema
}

// Get returns the schema of the field with the name, or nil.
func (p Properties) Get(name string) *Schema {
	for _, f := range p {
		if f.Name == name {
			return f.Schema
		}
	}
	return nil
}

// MarshalJSON writes the fields in their order.
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

// encode is json.Marshal without the escapes for HTML: < and > stay readable.
func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
}

// Text returns the schema as a file.
func (s *Schema) Text() ([]byte, error) {
	compact, err := encode(s)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	err = json.Indent(&b, compact, "", "  ")
	return append(b.Bytes(), '\n'), err
}

// Schemer is a value that decodes itself (strictyaml.Decodable) and returns the schema of the values that it takes.
type Schemer interface {
	JSONSchema() *Schema
}

// Duration is a pattern for durations that are not negative. It checks the spelling only; strictyaml.ParseDuration
// decides.
const Duration = `^(0|(\d+(\.\d+)?d)?(\d+(\.\d+)?h)?(\d+(\.\d+)?m)?(\d+(\.\d+)?s)?)$`

var (
	nodeType     = reflect.TypeFor[*strictyaml.Node]()
	durationType = reflect.TypeFor[time.Duration]()
)

// Of returns the schema of the values that strictyaml decodes into v. v is a struct or a pointer to one, and its values
// are the defaults. Of reads the tags yaml, enum, min and max, and takes doc as the description. The schema of a
// *strictyaml.Node is empty; the caller fills it.
func Of(v any) *Schema {
	return of(reflect.Indirect(reflect.ValueOf(v)), "")
}

func of(v reflect.Value, tag reflect.StructTag) *Schema {
	s := shape(v, tag)
	s.Description = tag.Get("doc")
	if s.Default == nil {
		s.Default = defaultOf(v)
	}
	return s
}

func shape(v reflect.Value, tag reflect.StructTag) *Schema {
	t := v.Type()
	if own, ok := reflect.TypeAssert[Schemer](reflect.New(t)); ok {
		return own.JSONSchema()
	}
	switch t {
	case nodeType:
		return &Schema{}
	case durationType:
		zero := int64(0)
		return &Schema{Type: Types{"string", "integer"}, Pattern: Duration, MinLength: 1, Minimum: &zero, Maximum: &zero}
	}
	switch t.Kind() {
	case reflect.Pointer: // an optional field: nil differs from the zero value
		return shape(reflect.Zero(t.Elem()), tag)
	case reflect.Struct:
		return object(v)
	case reflect.Map:
		return &Schema{Type: Types{"object"}, AdditionalProperties: of(reflect.Zero(t.Elem()), "")}
	case reflect.Slice:
		return &Schema{Type: Types{"array"}, Items: of(reflect.Zero(t.Elem()), "")}
	case reflect.Bool:
		return &Schema{Type: Types{"boolean"}}
	case reflect.Int, reflect.Int64:
		return &Schema{Type: Types{"integer"}, Minimum: bound(tag.Get("min")), Maximum: bound(tag.Get("max"))}
	case reflect.String:
		s := &Schema{Type: Types{"string"}}
		if enum := tag.Get("enum"); enum != "" {
			s.Enum = strings.Split(enum, ",")
		}
		return s
	default:
		panic("schema: no schema for " + t.String())
	}
}

func object(v reflect.Value) *Schema {
	s := &Schema{Type: Types{"object"}, AdditionalProperties: Nothing()}
	for _, f := range reflect.VisibleFields(v.Type()) { // an embedded struct adds its fields
		tag := f.Tag
		name, options, _ := strings.Cut(tag.Get("yaml"), ",")
		if name == "" || name == "-" {
			continue
		}
		s.Properties = append(s.Properties, Property{name, of(v.FieldByIndex(f.Index), tag)})
		if options == "required" {
			s.Required = append(s.Required, name)
		}
	}
	return s
}

// defaultOf returns the default of a field for the schema. It returns nil for a zero value, which says nothing.
func defaultOf(v reflect.Value) any {
	if v.IsZero() {
		return nil
	}
	if v.Type() == durationType {
		return strictyaml.FormatDuration(time.Duration(v.Int()))
	}
	switch v.Kind() {
	case reflect.Bool:
		return v.Bool()
	case reflect.Int, reflect.Int64:
		return v.Int()
	case reflect.String:
		return v.String()
	default:
		return nil
	}
}

func bound(s string) *int64 {
	if s == "" {
		return nil
	}
	n, _ := strconv.ParseInt(s, 10, 64) // a tag of our own
	return &n
}
