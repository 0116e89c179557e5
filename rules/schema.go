package rules

import (
	"slices"

	"tallyman/rules/jsonschema"
)

// Schema is the JSON Schema of a rule file, made of the types that decode it. It knows shapes and spellings; what fits together is
// told by Load, Check and Compile.
func Schema() ([]byte, error) {
	file := jsonschema.Of(fileSpec{})
	file.Schema, file.Title = jsonschema.Draft, "A Tallyman rule file"

	rule := jsonschema.Of(newSpec())
	rule.Required = []string{"id"}
	rule.Properties.Get("id").Pattern = ruleID.String()
	rule.Properties.Get("labels").PropertyNames = &jsonschema.Schema{Pattern: plainName.String()}
	scope := rule.Properties.Get("scopes").Items
	scope.Properties.Get("name").Pattern = plainName.String()

	file.Definitions = map[string]*jsonschema.Schema{"rule": rule}
	file.Properties.Get("rules").Items = &jsonschema.Schema{Ref: "#/definitions/rule"}
	takeSome(file.Properties.Get("defaults"), rule, "id")
	takeSome(scope.Properties.Get("overrides"), rule, fixedFields...)
	return file.Text()
}

// takeSome makes s an object with the fields of the rule, less those.
func takeSome(s, rule *jsonschema.Schema, less ...string) {
	s.Type, s.AdditionalProperties = rule.Type, jsonschema.Nothing()
	for _, f := range rule.Properties {
		if !slices.Contains(less, f.Name) {
			s.Properties = append(s.Properties, jsonschema.Property{Name: f.Name, Schema: &jsonschema.Schema{Ref: "#/definitions/rule/properties/" + f.Name}})
		}
	}
}

// JSONSchema implements jsonschema.Schemer.
func (*exprText) JSONSchema() *jsonschema.Schema {
	return &jsonschema.Schema{Type: jsonschema.Types{"string", "number", "boolean"}}
}

// JSONSchema implements jsonschema.Schemer.
func (*texts) JSONSchema() *jsonschema.Schema {
	return &jsonschema.Schema{
		Type: jsonschema.Types{"string", "object"}, MinProperties: 1, PropertyNames: &jsonschema.Schema{Pattern: language.String()},
		AdditionalProperties: &jsonschema.Schema{Type: jsonschema.Types{"string"}},
	}
}

// JSONSchema implements jsonschema.Schemer.
func (*scalars) JSONSchema() *jsonschema.Schema {
	return &jsonschema.Schema{
		Type: jsonschema.Types{"object"}, AdditionalProperties: &jsonschema.Schema{Type: jsonschema.Types{"string", "number", "boolean", "null"}},
	}
}
