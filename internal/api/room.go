package api

import (
	"net/http"

	"github.com/danielgtaylor/huma/v2"
)

// Base is where the API's first version lives.
const Base = "/api/v1"

// maxBody is how many bytes a body may have, where its operation says nothing else.
const maxBody = 64 << 10

// Room is a part of what the API serves: a package below this one, with what it needs and its own operations.
type Room interface {
	// Register adds the room's operations. It is called once, by New.
	Register(o *Operations)
}

// Operations takes what rooms serve. Operations of the OpenAPI library are added by huma.Register, which takes Operations for its API.
type Operations struct {
	huma.API

	// Waiters are woken when the server ends. Who holds back an answer enters here.
	Waiters *Waiters

	plain []plainOperation
}

// plainOperation is one that the OpenAPI library describes and does not serve.
type plainOperation struct {
	operation *huma.Operation
	handler   http.HandlerFunc
}

// Handle adds an operation that is served by a plain handler, because it is asked all the time or its answer is a stream.
func (o *Operations) Handle(op *huma.Operation, handler http.HandlerFunc) {
	o.plain = append(o.plain, plainOperation{op, handler})
}

// Operation is one that the OpenAPI library serves. Parameters are checked by the handlers, so that each fault has the
// code that it has everywhere; bodies are checked against their schema by checkedBody.
func Operation(id, method, path, tag, summary string) huma.Operation {
	return huma.Operation{
		OperationID: id, Method: method, Path: Base + path, Tags: []string{tag}, Summary: summary,
		MaxBodyBytes: maxBody, SkipValidateParams: true, SkipValidateBody: true,
		Responses: map[string]*huma.Response{"default": {}}, // completed later
	}
}
