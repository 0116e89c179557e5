package api

import (
	"github.com/danielgtaylor/huma/v2"

	"tallyman/sinks/inbox/page"
)

// Forms whose schemas say more than Go's types do. The forms know nothing of the OpenAPI library, so that newOperations names these types
// in their place.
type (
	stateSchema       struct{}
	payloadSchema     struct{}
	sendDataSchema    struct{}
	resetReasonSchema struct{}
)

// Schema says that a state of the audit is any value.
func (stateSchema) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{Description: "any JSON value; in XML its JSON text. Older records tell one of more than 64 KB by its size"}
}

// Schema says that an item's payload is any value.
func (payloadSchema) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{Description: "any JSON value of at most 64 KB; in XML its JSON text", Examples: []any{map[string]any{"bin": "A-01", "sku": "S1"}}}
}

// Schema says that the data of a notice that is sent is an object of plain values.
func (sendDataSchema) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{
		Type: huma.TypeObject, AdditionalProperties: true,
		Description: "the fields of the type by name. A decimal is a string or a number and stays exact, a time is RFC 3339",
		Examples:    []any{map[string]any{"bin": "A-01", "qty": "-3"}},
	}
}

// Schema names all reasons.
func (resetReasonSchema) Schema(huma.Registry) *huma.Schema {
	s := &huma.Schema{Type: huma.TypeString, Description: "why the cursor does not hold any more"}
	for _, reason := range page.ResetReasons() {
		s.Enum = append(s.Enum, string(reason))
	}
	return s
}
