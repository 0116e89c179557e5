package rules

import (
	"slices"

	"tallyman/rules/schema"
)

// Schema is the JSON Schema of a rule file, made of the types that decode it. It knows shapes and spellings; what fits together is
// told by Load, Check and Compile.
func Schema() ([]byte, error) {
	file := schema.Of(fileSpec{})
	file.Schema, file.Title = schema.Draft, "A Tallyman rule file"

	rule := schema.Of(newSpec())
	rule.Required = []string{"id"}
	rule.Properties.Get("id").Pattern = ruleID.String()
	rule.Properties.Get("labels").PropertyNames = &schema.Schema{Pattern: plainName.String()}
	scope := rule.Properties.Get("scopes").Items
	scope.Properties.Get("name").Pattern = plainName.String()

	file.Definitions = map[string]*schema.Schema{"rule": rule}
	file.Properties.Get("rules").Items = &schema.Schema{Ref: "#/definitions/rule"}
	takeSome(file.Properties.Get("defaults"), rule, "id")
	takeSome(scope.Properties.Get("overrides"), rule, fixedFields...)
	return file.Text()
}

// takeSome makes s an object with the fields of the rule, less those.
func takeSome(s, rule *schema.Schema, less ...string) {
	s.Type, s.AdditionalProperties = rule.Type, schema.Nothing()
	for _, f := range rule.Properties {
		if !slices.Contains(less, f.Name) {
			s.Properties = append(s.Properties, schema.Property{Name: f.Name, Schema: &schema.Schema{Ref: "#/definitions/rule/properties/" + f.Name}})
		}
	}
}

// JSONSchema implements schema.Schemer.
func (*exprText) JSONSchema() *schema.Schema {
	return &schema.Schema{Type: schema.Types{"string", "number", "boolean"}}
}

// JSONSchema implements schema.Schemer.
func (*texts) JSONSchema() *schema.Schema {
	return &schema.Schema{
		Type: schema.Types{"string", "object"}, MinProperties: 1, PropertyNames: &schema.Schema{Pattern: language.String()},
		AdditionalProperties: &schema.Schema{Type: schema.Types{"string"}},
	}
}

// JSONSchema implements schema.Schemer.
func (*scalars) JSONSchema() *schema.Schema {
	return &schema.Schema{
		Type: schema.Types{"object"}, AdditionalProperties: &schema.Schema{Type: schema.Types{"string", "number", "boolean", "null"}},
	}
}
