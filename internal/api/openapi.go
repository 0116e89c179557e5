package api

import (
	"net/http"
	"reflect"
	"strings"

	"github.com/danielgtaylor/huma/v2"
)

func apiInfo(version string) *huma.Info {
	return &huma.Info{
		Title:   "Tallyman",
		Version: version,
		Description: "Clients poll their notices; operators keep types and subscriptions. " +
			"Answers are JSON or XML, as Accept says. Errors are problems (RFC 9457) with a stable code.",
		License: &huma.License{Name: "Apache-2.0", Identifier: "Apache-2.0"},
	}
}

func apiTags() []*huma.Tag {
	return []*huma.Tag{
		{Name: "notices", Description: "what clients poll"},
		{Name: "types", Description: "the catalogue of notice types; a change is in force for the next commit on every node"},
		{Name: "subscriptions", Description: "who gets what; a change is in force for the next commit on every node"},
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
	case "StatusReport":
		return "Status"
	}
	return strings.TrimSuffix(name, "Form")
}

// schemaOf is the schema of a Go type in the document.
func schemaOf[T any](doc *huma.OpenAPI) *huma.Schema {
	return doc.Components.Schemas.Schema(reflect.TypeFor[T](), true, "")
}

// complete adds to every operation what the library does not know of: XML beside JSON, and the problems.
func complete(doc *huma.OpenAPI) {
	problem := &huma.Response{
		Description: "a problem; its code says which",
		Content:     both("application/problem+json", "application/problem+xml", schemaOf[Problem](doc)),
	}
	for _, item := range doc.Paths {
		for _, op := range []*huma.Operation{item.Get, item.Post, item.Put, item.Delete} {
			if op == nil {
				continue
			}
			for _, response := range op.Responses {
				if m, ok := response.Content[string(mediaJSON)]; ok && !plainJSON[op.OperationID] {
					response.Content[string(mediaXML)] = &huma.MediaType{Schema: m.Schema}
				}
			}
			op.Responses["default"] = problem
		}
	}
}

// plainJSON holds the operations that answer the same JSON to everyone.
var plainJSON = map[string]bool{"healthz": true, "readyz": true, "openapi": true}

func both(jsonType, xmlType string, schema *huma.Schema) map[string]*huma.MediaType {
	return map[string]*huma.MediaType{jsonType: {Schema: schema}, xmlType: {Schema: schema}}
}

// pollOperation describes GET /notices.
func pollOperation(doc *huma.OpenAPI) *huma.Operation {
	schema := schemaOf[pageForm](doc)
	return &huma.Operation{
		OperationID: "poll-notices", Method: http.MethodGet, Path: base + "/notices", Tags: []string{"notices"},
		Summary: "Poll the notices of some subscribers in one warehouse",
		Description: "Poll first without a cursor, then with the cursor of the last answer as after: nothing is missed and nothing comes twice. " +
			"Send the answer's ETag as If-None-Match along: while nothing is new the answer is a 304. With wait the answer is held back until " +
			"something is new or the time is over. reset means that the cursor does not hold any more and the page is a fresh window of the last three days.",
		Parameters: []*huma.Param{
			queryParam("warehouse", "the warehouse", true, nameSchema()),
			queryParam("subscriber", "user:<id> or role:<id>; repeat it for more than one", true,
				&huma.Schema{Type: huma.TypeArray, Items: text("^(user|role):[A-Za-z0-9][A-Za-z0-9_.@-]{0,127}$"), MaxItems: new(maxSubscribers)}),
			queryParam("after", "the cursor of the last answer", false, text("")),
			queryParam("since", "instead of after: delivered at or after that many ms since 1970; without either, the last three days", false, integer(0, maxSince, nil)),
			queryParam("limit", "notices in a page", false, integer(1, 200, 50)),
			queryParam("wait", "hold the answer back until something is new, at most that long: a duration up to 60s, such as 25s", false, text("")),
			queryParam("type", "only notices of this type; repeat it for more than one", false,
				&huma.Schema{Type: huma.TypeArray, Items: nameSchema(), MaxItems: new(maxTypes)}),
			{Name: "Accept-Language", In: "header", Description: "picks translated titles and bodies", Schema: text("")},
			{Name: "If-None-Match", In: "header", Description: "the ETag of the last answer", Schema: text("")},
		},
		Responses: map[string]*huma.Response{
			"200": {
				Description: "a page, oldest first", Headers: pollHeaders(),
				Content: map[string]*huma.MediaType{string(mediaJSON): {Schema: schema}, string(mediaTextXML): {Schema: schema}},
			},
			"304": {Description: "nothing is new", Headers: pollHeaders()},
		},
	}
}

func pollHeaders() map[string]*huma.Header {
	return map[string]*huma.Header{
		"ETag":          {Schema: text(""), Description: "what to send as If-None-Match"},
		"Vary":          {Schema: text("")},
		"Cache-Control": {Schema: text("")},
	}
}

// legacyOperation describes GET /legacy/listNotifications.
func legacyOperation(doc *huma.OpenAPI) *huma.Operation {
	return &huma.Operation{
		OperationID: "legacy-list-notifications", Method: http.MethodGet, Path: base + "/legacy/listNotifications", Tags: []string{"notices"},
		Summary: "Poll as clients of the old web service do",
		Description: "Always XML. Poll with the lastFetchTimeStamp of the last answer; notices of that very millisecond come again, so tell them apart by id. " +
			"createTime is the time of delivery.",
		Parameters: []*huma.Param{
			queryParam("whId", "the warehouse", true, nameSchema()),
			queryParam("subscriberIdList", "ids separated by commas: a bare id is a user, role:x a role", true, text("")),
			queryParam("lastFetchTimeStamp", "ms since 1970; without it, the last three days", false, integer(0, maxSince, nil)),
			{Name: "Accept-Language", In: "header", Description: "picks translated titles and bodies", Schema: text("")},
		},
		Responses: map[string]*huma.Response{"200": {
			Description: "what is new, oldest first",
			Content:     map[string]*huma.MediaType{string(mediaXML): {Schema: schemaOf[packForm](doc)}},
		}},
	}
}

// plainOperations describe what has no parameters.
func plainOperations() []*huma.Operation {
	simple := func(id, path, summary, form, description string) *huma.Operation {
		return &huma.Operation{
			OperationID: id, Method: http.MethodGet, Path: path, Tags: []string{"operations"}, Summary: summary,
			Responses: map[string]*huma.Response{"200": {
				Description: description, Content: map[string]*huma.MediaType{form: {Schema: &huma.Schema{}}},
			}},
		}
	}
	return []*huma.Operation{
		simple("healthz", "/healthz", "Is the process alive?", string(mediaJSON), "it is"),
		simple("readyz", "/readyz", "Can the node do its work?", string(mediaJSON), "it can; otherwise a problem with code not_ready lists what is missing"),
		simple("metrics", "/metrics", "Metrics for Prometheus", "text/plain", "the metrics"),
		simple("openapi", "/openapi.json", "This document", string(mediaJSON), "OpenAPI 3.1"),
	}
}

func queryParam(name, description string, required bool, schema *huma.Schema) *huma.Param {
	return &huma.Param{Name: name, In: "query", Description: description, Required: required, Schema: schema}
}

func nameSchema() *huma.Schema { return text("^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$") }

func text(pattern string) *huma.Schema { return &huma.Schema{Type: huma.TypeString, Pattern: pattern} }

func integer(least, most float64, preset any) *huma.Schema {
	return &huma.Schema{Type: huma.TypeInteger, Minimum: &least, Maximum: &most, Default: preset}
}
