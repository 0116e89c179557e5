package app_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
)

// schemaJSON is a schema of the document, as far as bodies have it.
type schemaJSON struct {
	Ref                  string                `json:"$ref"`
	Type                 any                   `json:"type"`
	Format               string                `json:"format"`
	Properties           map[string]schemaJSON `json:"properties"`
	Required             []string              `json:"required"`
	AdditionalProperties json.RawMessage       `json:"additionalProperties"`
	Items                *schemaJSON           `json:"items"`
	Enum                 []any                 `json:"enum"`
	Examples             []any                 `json:"examples"`
	Pattern              string                `json:"pattern"`
	Digits               bool                  `json:"x-digits"` // a number is taken, too
	Decimal              bool                  `json:"x-decimal"`
	Minimum              *int                  `json:"minimum"`
	Maximum              *int                  `json:"maximum"`
	MinLength            *int                  `json:"minLength"`
	MaxLength            *int                  `json:"maxLength"`
	MinItems             *int                  `json:"minItems"`
	MaxItems             *int                  `json:"maxItems"`
	MinProperties        *int                  `json:"minProperties"`
	MaxProperties        *int                  `json:"maxProperties"`
}

// bodyOperation is an operation that takes a body.
type bodyOperation struct {
	method, path string
	schema       schemaJSON
	schemas      map[string]schemaJSON
}

// bodyOperations reads the document that the node serves.
func bodyOperations(t *testing.T, n *node) map[string]bodyOperation {
	t.Helper()
	_, text := n.do(http.MethodGet, "/openapi.json", "application/json", "")
	var doc struct {
		Paths map[string]map[string]struct {
			OperationID string `json:"operationId"`
			RequestBody struct {
				Content map[string]struct {
					Schema schemaJSON `json:"schema"`
				} `json:"content"`
			} `json:"requestBody"`
		} `json:"paths"`
		Components struct {
			Schemas map[string]schemaJSON `json:"schemas"`
		} `json:"components"`
	}
	if err := json.Unmarshal([]byte(text), &doc); err != nil {
		t.Fatal(err)
	}
	out := map[string]bodyOperation{}
	for path, item := range doc.Paths {
		for method, op := range item {
			if body, ok := op.RequestBody.Content["application/json"]; ok {
				out[op.OperationID] = bodyOperation{strings.ToUpper(method), path, body.Schema, doc.Components.Schemas}
			}
		}
	}
	if len(out) < 25 {
		t.Fatalf("only %d operations take a body", len(out))
	}
	return out
}

// at is the path of a request; parts stand for those in braces, between slashes.
func (o *bodyOperation) at(parts string) string {
	path := o.path
	for part := range strings.SplitSeq(parts, "/") {
		if from, to := strings.Index(path, "{"), strings.Index(path, "}"); from >= 0 {
			path = path[:from] + part + path[to+1:]
		}
	}
	return path
}

// resolve follows a reference.
func (o *bodyOperation) resolve(s schemaJSON) schemaJSON {
	for s.Ref != "" {
		s = o.schemas[s.Ref[strings.LastIndex(s.Ref, "/")+1:]]
	}
	return s
}

// kind is the type of a value that is there; "" is any.
func (s *schemaJSON) kind() string {
	switch t := s.Type.(type) {
	case string:
		return t
	case []any:
		for _, one := range t {
			if one != "null" {
				return fmt.Sprint(one)
			}
		}
	}
	return ""
}

// mayBeNull tells whether null is a value of its own here.
func (s *schemaJSON) mayBeNull() bool {
	list, ok := s.Type.([]any)
	return s.Type == nil || ok && slices.Contains(list, any("null"))
}

// others is the schema of members that have no name in the document; false where there may be none.
func (s *schemaJSON) others() (of schemaJSON, free, ok bool) {
	switch string(s.AdditionalProperties) {
	case "false":
		return of, false, false
	case "", "true":
		return of, true, true
	}
	return of, false, json.Unmarshal(s.AdditionalProperties, &of) == nil
}
