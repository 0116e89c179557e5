package body

import (
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/validation"

	"tallyman/internal/text"
)

// mostMembers is the maximum number of members of a schema. The checker records the members of a body as bits of a
// uint64.
const mostMembers = 64

// Schema describes the allowed values.
type Schema struct {
	kind     string // One of huma's types; "" = any value.
	nullable bool

	members  map[string]member // Members of an object.
	required uint64            // Bits of the required members.
	names    []string          // Names of the required members, by bit.
	others   *Schema           // Schema of other members; nil = other members are refused.
	most     int               // Maximum number of members or elements; -1 = any number.
	least    int
	element  *Schema // Schema of the elements of an array.

	shortest, longest int // Characters of a text; longest -1 = any number.
	pattern           *regexp.Regexp
	isTime            bool // The text is a time of RFC 3339.
	shape             text.Shape
	digits            string // Value of the tag digits: a number may stand for the text. See MarkDigits.
	enum              []string
	minimum, maximum  *float64
}

type member struct {
	bit    uint64
	schema *Schema
}

// anything is the schema of any value.
var anything = &Schema{most: -1, longest: -1, shape: text.Lines}

// Compile compiles a schema of the document. Compile returns an error if the schema has a rule that Check does not
// check.
func Compile(registry huma.Registry, s *huma.Schema) (*Schema, error) {
	c := compiler{registry: registry, done: map[string]*Schema{}}
	return c.compile("body", s, text.Line)
}

type compiler struct {
	registry huma.Registry
	done     map[string]*Schema // By reference.
}

// compile compiles the schema of a field. shape is the shape of its texts, also of the texts in its list or map.
func (c *compiler) compile(at string, s *huma.Schema, shape text.Shape) (*Schema, error) {
	if s.Ref == "" {
		out := &Schema{shape: shape}
		return out, c.fill(at, s, nil, out)
	}
	if done := c.done[s.Ref]; done != nil {
		return done, nil
	}
	out := &Schema{}
	c.done[s.Ref] = out
	return out, c.fill(at, c.registry.SchemaFromRef(s.Ref), c.registry.TypeFromRef(s.Ref), out)
}

// fill compiles the schema of a type. of is the Go type, whose fields have their shapes in the tag text.Tag; nil = the
// schema has no name.
func (c *compiler) fill(at string, s *huma.Schema, of reflect.Type, out *Schema) error {
	if err := checkable(s); err != nil {
		return fmt.Errorf("%s: %w", at, err)
	}
	*out = Schema{
		kind: s.Type, nullable: s.Nullable || s.Type == "", most: -1, longest: orAny(s.MaxLength), shortest: orNone(s.MinLength),
		minimum: s.Minimum, maximum: s.Maximum, isTime: s.Format == "date-time", shape: out.shape, digits: digitsOf(s),
	}
	for _, v := range s.Enum {
		text, ok := v.(string)
		if !ok {
			return fmt.Errorf("%s: the enum has %v, which is no text", at, v)
		}
		out.enum = append(out.enum, text)
	}
	if s.Pattern != "" {
		var err error
		if out.pattern, err = regexp.Compile(s.Pattern); err != nil {
			return fmt.Errorf("%s: %w", at, err)
		}
	}
	switch s.Type {
	case huma.TypeArray:
		out.most, out.least = orAny(s.MaxItems), orNone(s.MinItems)
		var err error
		out.element, err = c.compile(at+"[]", s.Items, out.shape)
		return err
	case huma.TypeObject:
		out.most, out.least = orAny(s.MaxProperties), orNone(s.MinProperties)
		return c.fillMembers(at, s, of, out)
	}
	return nil
}

// fillMembers compiles the members of an object.
func (c *compiler) fillMembers(at string, s *huma.Schema, of reflect.Type, out *Schema) error {
	if len(s.Properties) > mostMembers {
		return fmt.Errorf("%s: it has %d members; at most %d are allowed", at, len(s.Properties), mostMembers)
	}
	out.members = make(map[string]member, len(s.Properties))
	for _, name := range append(slices.Clone(s.Required), others(s)...) {
		compiled, err := c.compile(at+"."+name, s.Properties[name], shapeOf(of, name))
		if err != nil {
			return err
		}
		bit := uint64(1) << len(out.members)
		out.members[name] = member{bit, compiled}
		if slices.Contains(s.Required, name) {
			out.required |= bit
			out.names = append(out.names, name)
		}
	}
	switch values := s.AdditionalProperties.(type) {
	case bool:
		if values {
			out.others = anything
		}
	case nil: // The default of JSON Schema.
		out.others = anything
	case *huma.Schema:
		var err error
		out.others, err = c.compile(at+".*", values, out.shape)
		return err
	}
	return nil
}

// shapeOf returns the shape in the tag of the field with the member's name.
func shapeOf(of reflect.Type, name string) text.Shape {
	for of != nil && of.Kind() == reflect.Pointer {
		of = of.Elem()
	}
	if of == nil || of.Kind() != reflect.Struct {
		return text.Line
	}
	for _, f := range reflect.VisibleFields(of) {
		if called, _, _ := strings.Cut(f.Tag.Get("json"), ","); called == name {
			return text.ShapeOf(f.Tag.Get(text.Tag))
		}
	}
	return text.Line
}

// numeralExtensions has the extensions for schemas of texts that may come as numbers, by the value of the struct tag
// `digits`. The value "true" is for a name that may only have digits, such as the name of a warehouse. The value
// "decimal" is for a decimal number. For a list, the tag is about the elements.
var numeralExtensions = map[string]string{digitsOfName: "x-digits", digitsOfDecimal: "x-decimal"}

const (
	digitsOfName    = "true"
	digitsOfDecimal = "decimal"
)

// digitsOf returns the tag value for the extension of a schema, or "" if the text must not come as a number.
func digitsOf(s *huma.Schema) string {
	for tag, extension := range numeralExtensions {
		if s.Extensions[extension] == true {
			return tag
		}
	}
	return ""
}

// MarkDigits adds the extension to the schema of each member whose field has the tag digits.
func MarkDigits(registry huma.Registry) {
	for name, schema := range registry.Map() {
		of := registry.TypeFromRef("#/components/schemas/" + name)
		if of == nil || of.Kind() != reflect.Struct {
			continue
		}
		for _, f := range reflect.VisibleFields(of) {
			called, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			member := schema.Properties[called]
			tag := f.Tag.Get("digits")
			if member == nil || tag == "" {
				continue
			}
			if member.Items != nil {
				member = member.Items
			}
			member.Extensions = map[string]any{numeralExtensions[tag]: true}
		}
	}
}

// others returns the optional members.
func others(s *huma.Schema) []string {
	var names []string
	for name := range s.Properties {
		if !slices.Contains(s.Required, name) {
			names = append(names, name)
		}
	}
	return names
}

// checkable returns an error that names the rules of the schema that Check would ignore.
func checkable(s *huma.Schema) error {
	var not []string
	for word, said := range map[string]bool{
		"oneOf": s.OneOf != nil, "anyOf": s.AnyOf != nil, "allOf": s.AllOf != nil, "not": s.Not != nil,
		"exclusiveMinimum": s.ExclusiveMinimum != nil, "exclusiveMaximum": s.ExclusiveMaximum != nil, "multipleOf": s.MultipleOf != nil,
		"uniqueItems": s.UniqueItems, "dependentRequired": len(s.DependentRequired) > 0, "contentEncoding": s.ContentEncoding != "",
		"readOnly": s.ReadOnly, "format " + s.Format: !slices.Contains([]string{"", "date-time", "int64", "int32", "double", "float"}, s.Format),
		"enum of a " + s.Type: len(s.Enum) > 0 && s.Type != huma.TypeString,
	} {
		if said {
			not = append(not, word)
		}
	}
	if len(not) > 0 {
		slices.Sort(not)
		return fmt.Errorf("bodies are not checked for %s", strings.Join(not, ", "))
	}
	return nil
}

func orAny(bound *int) int {
	if bound == nil {
		return -1
	}
	return *bound
}

func orNone(bound *int) int {
	if bound == nil {
		return 0
	}
	return *bound
}

// missing returns the message for a required member that is missing.
func missing(name string) string { return fmt.Sprintf(validation.MsgExpectedRequiredProperty, name) }
