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

// schemaName removes Form from the names of Go types, because the word means nothing to a client.
func schemaName(t reflect.Type, hint string) string {
	name := huma.DefaultSchemaNamer(t, hint)
	switch name {
	case "ViewForm":
		return "Notice"
	case "PageForm":
		return "Notices"
	case "Form":
		return "BareNotice" // A notice without the marks of a reader.
	case "StatusReport":
		return "Status"
	}
	return strings.TrimSuffix(name, "Form")
}

// SchemaOf returns the schema of a Go type in the document.
func SchemaOf[T any](doc *huma.OpenAPI) *huma.Schema {
	return doc.Components.Schemas.Schema(reflect.TypeFor[T](), true, "")
}

// complete adds to every operation the parts that the library does not know: XML in addition to JSON, the problems, and
// the roles.
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
			schema.AdditionalProperties = nil // Answers may get new members, and a client must accept them.
		}
	}
}

// nameSinkTypes lists the types of sinks in the document. The caller passes them, because this package does not import
// the sinks.
func nameSinkTypes(doc *huma.OpenAPI, types []string) {
	of := doc.Components.Schemas.Map()["Sink"].Properties["type"]
	for _, name := range types {
		of.Enum = append(of.Enum, name)
	}
}

// tellPresets moves the defaults of members into their descriptions. Generators of TypeScript take a member with a
// default for a member that is always present, and then require it in the bodies of requests.
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

// nameRoles gives code generators a name for each role. Some generators would name the role client like their own
// client.
func nameRoles(doc *huma.OpenAPI) {
	items := doc.Components.Schemas.Map()["TokenAsk"].Properties["access"].Items
	names := make([]string, len(items.Enum))
	for i, role := range items.Enum {
		text := fmt.Sprint(role)
		names[i] = "Access" + strings.ToUpper(text[:1]) + text[1:]
	}
	items.Extensions = map[string]any{"x-enum-varnames": names}
}

// addXML documents XML for every answer that has JSON. addXML leaves out text/xml, because generators would give the
// types of text/xml and application/xml the same name.
func addXML(op *huma.Operation, response *huma.Response) {
	m, ok := response.Content[string(MediaJSON)]
	if _, has := response.Content[string(MediaXML)]; ok && !has && !plainJSON[op.OperationID] {
		response.Content[string(MediaXML)] = &huma.MediaType{Schema: m.Schema}
	}
}

// mark collects the names of all schemas in the body of a request.
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

// plainJSON has the operations whose answers are always JSON.
var plainJSON = map[string]bool{"healthz": true, "readyz": true, "openapi": true}

// BothForms returns the content of an answer with one schema and two media types.
func BothForms(one, other string, schema *huma.Schema) map[string]*huma.MediaType {
	return map[string]*huma.MediaType{one: {Schema: schema}, other: {Schema: schema}}
}

// QueryParam returns the description of a query parameter.
func QueryParam(name, description string, schema *huma.Schema) *huma.Param {
	return &huma.Param{Name: name, In: "query", Description: description, Schema: schema}
}

// NameSchema is the schema of a text that IsName accepts.
func NameSchema() *huma.Schema { return TextSchema("^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$") }

// TextSchema is the schema of a text that matches the pattern. The pattern "" matches every text.
func TextSchema(pattern string) *huma.Schema {
	return &huma.Schema{Type: huma.TypeString, Pattern: pattern}
}

// IntegerSchema is the schema of a whole number from least to most. preset is the default, or nil.
func IntegerSchema(least, most float64, preset any) *huma.Schema {
	s := &huma.Schema{Type: huma.TypeInteger, Minimum: &least, Maximum: &most, Default: preset}
	if most > math.MaxInt32 {
		s.Format = "int64" // Code generated for 32-bit machines must hold the number.
	}
	return s
}

// Types with the schemas of forms whose Go types say too little. Package wire does not know the OpenAPI library, so
// newOperations registers these types as aliases of the forms.
type (
	stateSchema       struct{}
	payloadSchema     struct{}
	sendDataSchema    struct{}
	resetReasonSchema struct{}
)

// Schema says that a state in the audit is any JSON value.
func (stateSchema) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{Description: "any JSON value; in XML its JSON text. For a value of more than 64 KB a record may have only the size"}
}

// Schema says that the payload of an item is any JSON value.
func (payloadSchema) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{Description: "any JSON value of at most 64 KB; in XML its JSON text", Examples: []any{map[string]any{"bin": "A-01", "sku": "S1"}}}
}

// Schema says that the data of a sent notice is an object of simple values.
func (sendDataSchema) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{
		Type: huma.TypeObject, AdditionalProperties: true,
		Description: "values by the names of the type's fields. A decimal is a string or a number and stays exact; a time is RFC 3339",
		Examples:    []any{map[string]any{"bin": "A-01", "qty": "-3"}},
	}
}

// Schema lists all reasons.
func (resetReasonSchema) Schema(huma.Registry) *huma.Schema {
	s := &huma.Schema{Type: huma.TypeString, Description: "why the cursor is no longer valid"}
	for _, reason := range page.ResetReasons() {
		s.Enum = append(s.Enum, string(reason))
	}
	return s
}
