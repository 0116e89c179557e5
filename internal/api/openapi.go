package api

import (
	"fmt"
	"math"
	"path"
	"reflect"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"tallyman/internal/api/body"
	"tallyman/internal/wire"
	"tallyman/sinks/inbox/page"
)

func apiInfo(version string) *huma.Info {
	return &huma.Info{
		Title:   "Tallyman",
		Version: version,
		Description: "Clients poll their notices, workers lease items from queues, and operators manage rules, types and subscriptions. " +
			"Answers are application/json or application/xml, as Accept says; where Accept names text/xml, the same XML comes as text/xml. " +
			"Bodies of requests can be XML, too. " +
			"This document has one XML type only, because client generators do not handle both. Errors are problems (RFC 9457) with a stable code.",
		License: &huma.License{Name: "Apache-2.0", Identifier: "Apache-2.0"},
	}
}

func apiTags() []*huma.Tag {
	return []*huma.Tag{
		{Name: "notices", Description: "notices: clients poll, read and ack them, and business systems send them"},
		{Name: "types", Description: "the catalogue of notice types; the next commit on every node uses a change"},
		{Name: "subscriptions", Description: "who gets which notices; the next commit on every node uses a change"},
		{Name: "subscribers", Description: "the address book: where push channels reach users and roles"},
		{Name: "deliveries", Description: "notices on their way to sinks: their state, and the operations to retry and cancel them"},
		{Name: "queues", Description: "work queues: producers push items, workers lease items and report results, operators inspect and repair"},
		{Name: "rules", Description: "rules, their runs and findings, and the operations of operators on rules"},
		{Name: "silences", Description: "silences and recurring maintenance windows, which withhold notices; a change is in force on every node within a second"},
		{Name: "tokens", Description: "API tokens and their roles; a change is in force on every node within a second"},
		{Name: "operations", Description: "the state of the service"},
	}
}

// schemaName drops what Go calls a form: noticeForm and ViewForm are the same thing to a client.
func schemaName(t reflect.Type, hint string) string {
	name := huma.DefaultSchemaNamer(t, hint)
	switch name {
	case "ViewForm":
		return "Notice"
	case "PageForm":
		return "Notices"
	case "Form":
		return "BareNotice" // as it was made, without what its reader has done
	case "StatusReport":
		return "Status"
	}
	return strings.TrimSuffix(name, "Form")
}

// SchemaOf is the schema of a Go type in the document.
func SchemaOf[T any](doc *huma.OpenAPI) *huma.Schema {
	return doc.Components.Schemas.Schema(reflect.TypeFor[T](), true, "")
}

// complete adds to every operation what the library does not know of: XML beside JSON, and the problems.
func complete(doc *huma.OpenAPI) {
	problemForms := BothForms("application/problem+json", "application/problem+xml", SchemaOf[wire.Problem](doc))
	refused := &huma.Response{Description: "the request is refused; the problem's code says why", Content: problemForms}
	problem := &huma.Response{Description: "the service cannot answer now; the problem's code says why", Content: problemForms}
	doc.Components.SecuritySchemes = map[string]*huma.SecurityScheme{bearerScheme: {
		Type: "http", Scheme: "bearer", Description: "An API token (tly_…) or a JWT. With auth.mode none, no request needs one.",
	}}
	sent := map[string]bool{}
	for _, item := range doc.Paths {
		for _, op := range []*huma.Operation{item.Get, item.Post, item.Put, item.Delete} {
			if op == nil {
				continue
			}
			for _, response := range op.Responses {
				addXML(op, response)
			}
			op.Responses["4XX"], op.Responses["default"] = refused, problem
			documentAccess(op)
			if op.RequestBody != nil && op.RequestBody.Content[string(MediaJSON)] != nil {
				mark(doc.Components.Schemas, op.RequestBody.Content[string(MediaJSON)].Schema, sent)
			}
		}
	}
	body.MarkDigits(doc.Components.Schemas)
	nameRoles(doc)
	tellPresets(doc)
	for name, schema := range doc.Components.Schemas.Map() {
		if !sent[name] {
			schema.AdditionalProperties = nil // answers may grow: a client must not trip over a new member
		}
	}
}

// nameSinkTypes says which types of sinks there are: the table of types is not the API's.
func nameSinkTypes(doc *huma.OpenAPI, types []string) {
	of := doc.Components.Schemas.Map()["Sink"].Properties["type"]
	for _, name := range types {
		of.Enum = append(of.Enum, name)
	}
}

// tellPresets moves the presets of members into words: generators of TypeScript take a member with a default for one that is always there, and
// ask for it in bodies.
func tellPresets(doc *huma.OpenAPI) {
	for _, schema := range doc.Components.Schemas.Map() {
		for name, member := range schema.Properties {
			if member.Default == nil || slices.Contains(schema.Required, name) {
				continue
			}
			words := fmt.Sprintf("%v by default", member.Default)
			if member.Description != "" {
				words = member.Description + ". " + strings.ToUpper(words[:1]) + words[1:]
			}
			member.Description, member.Default = words, nil
		}
	}
}

// nameRoles gives generators names for the roles: what some make of client alone is the name of their own client.
func nameRoles(doc *huma.OpenAPI) {
	items := doc.Components.Schemas.Map()["TokenAsk"].Properties["access"].Items
	names := make([]string, len(items.Enum))
	for i, role := range items.Enum {
		text := fmt.Sprint(role)
		names[i] = "Access" + strings.ToUpper(text[:1]) + text[1:]
	}
	items.Extensions = map[string]any{"x-enum-varnames": names}
}

// addXML documents that an answer in JSON is there in XML too. text/xml is left out: it would be the same form twice, which generators
// of clients make the same name of.
func addXML(op *huma.Operation, response *huma.Response) {
	m, ok := response.Content[string(MediaJSON)]
	if _, has := response.Content[string(MediaXML)]; ok && !has && !plainJSON[op.OperationID] {
		response.Content[string(MediaXML)] = &huma.MediaType{Schema: m.Schema}
	}
}

// mark collects the names of the schemas that a body is made of.
func mark(registry huma.Registry, schema *huma.Schema, sent map[string]bool) {
	if name := path.Base(schema.Ref); schema.Ref != "" {
		if sent[name] {
			return
		}
		sent[name] = true
		schema = registry.SchemaFromRef(schema.Ref)
	}
	for _, p := range schema.Properties {
		mark(registry, p, sent)
	}
	if schema.Items != nil {
		mark(registry, schema.Items, sent)
	}
	if values, ok := schema.AdditionalProperties.(*huma.Schema); ok {
		mark(registry, values, sent)
	}
}

// plainJSON holds the operations that answer the same JSON to everyone.
var plainJSON = map[string]bool{"healthz": true, "readyz": true, "openapi": true}

// BothForms is the content of an answer that comes in two forms of one schema.
func BothForms(one, other string, schema *huma.Schema) map[string]*huma.MediaType {
	return map[string]*huma.MediaType{one: {Schema: schema}, other: {Schema: schema}}
}

// QueryParam describes a parameter of the query.
func QueryParam(name, description string, schema *huma.Schema) *huma.Param {
	return &huma.Param{Name: name, In: "query", Description: description, Schema: schema}
}

// NameSchema is the schema of what IsName takes.
func NameSchema() *huma.Schema { return TextSchema("^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$") }

// TextSchema is the schema of a text that matches the pattern; "" takes every text.
func TextSchema(pattern string) *huma.Schema {
	return &huma.Schema{Type: huma.TypeString, Pattern: pattern}
}

// IntegerSchema is the schema of a whole number within the bounds; preset is nil where there is none.
func IntegerSchema(least, most float64, preset any) *huma.Schema {
	s := &huma.Schema{Type: huma.TypeInteger, Minimum: &least, Maximum: &most, Default: preset}
	if most > math.MaxInt32 {
		s.Format = "int64" // what is generated for a machine of 32 bits must hold it
	}
	return s
}

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
	return &huma.Schema{Description: "any JSON value; in XML its JSON text. Older records only have the size of a value of more than 64 KB"}
}

// Schema says that an item's payload is any value.
func (payloadSchema) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{Description: "any JSON value of at most 64 KB; in XML its JSON text", Examples: []any{map[string]any{"bin": "A-01", "sku": "S1"}}}
}

// Schema says that the data of a notice that is sent is an object of plain values.
func (sendDataSchema) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{
		Type: huma.TypeObject, AdditionalProperties: true,
		Description: "values by the names of the type's fields. A decimal is a string or a number and stays exact; a time is RFC 3339",
		Examples:    []any{map[string]any{"bin": "A-01", "qty": "-3"}},
	}
}

// Schema names all reasons.
func (resetReasonSchema) Schema(huma.Registry) *huma.Schema {
	s := &huma.Schema{Type: huma.TypeString, Description: "why the cursor is no longer valid"}
	for _, reason := range page.ResetReasons() {
		s.Enum = append(s.Enum, string(reason))
	}
	return s
}
