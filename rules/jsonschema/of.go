package jsonschema

import (
	"reflect"
	"strconv"
	"strings"
	"time"

	"tallyman/rules/strictyaml"
)

// Schemer is a value that reads a node itself (strictyaml.Decodable), and says what it takes.
type Schemer interface {
	JSONSchema() *Schema
}

// Duration is the spelling of durations; strictyaml.ParseDuration has the last word.
const Duration = `^(0|(\d+(\.\d+)?d)?(\d+(\.\d+)?h)?(\d+(\.\d+)?m)?(\d+(\.\d+)?s)?)$`

var (
	nodeType     = reflect.TypeFor[*strictyaml.Node]()
	durationType = reflect.TypeFor[time.Duration]()
)

// Of returns the schema of the values that strictyaml decodes into v: a struct, or a pointer to one, whose values are the defaults. It
// knows the tags yaml, enum, min and max; doc is the description. What a *strictyaml.Node takes is left to the caller.
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
	for i := range v.NumField() {
		tag := v.Type().Field(i).Tag
		name, options, _ := strings.Cut(tag.Get("yaml"), ",")
		if name == "" || name == "-" {
			continue
		}
		s.Properties = append(s.Properties, Property{name, of(v.Field(i), tag)})
		if options == "required" {
			s.Required = append(s.Required, name)
		}
	}
	return s
}

// defaultOf is what a field has where nothing is written, if that says anything.
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
