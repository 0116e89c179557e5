package api

import (
	"net/http"

	"github.com/danielgtaylor/huma/v2"
)

// Base is the path of version 1 of the API.
const Base = "/api/v1"

// maxBody is the maximum size of a body in bytes, if the operation sets no other maximum.
const maxBody = 64 << 10

// Room is a part of the API: a package below this one, with its own dependencies and operations.
type Room interface {
	// Register adds the room's operations. Register is called once, by New.
	Register(o *Operations)
}

// Operations collects the operations of the rooms. Operations is also the huma.API for huma.Register, which adds
// operations of the OpenAPI library.
type Operations struct {
	huma.API

	// Waiters wakes waiting requests when the server stops. A handler that holds back an answer must call
	// Waiters.Enter.
	Waiters *Waiters

	plain []plainOperation
}

// plainOperation is an operation that the OpenAPI library describes but does not serve.
type plainOperation struct {
	operation *huma.Operation
	handler   http.HandlerFunc
}

// Handle adds an operation with a plain handler. Use Handle for operations that carry most of the load, and for
// streams.
func (o *Operations) Handle(op *huma.Operation, handler http.HandlerFunc) {
	o.plain = append(o.plain, plainOperation{op, handler})
}

// Operation returns an operation that the OpenAPI library serves. The handler of the operation checks the parameters,
// so that each fault has the same code everywhere. checkedBody checks the body against the schema.
func Operation(id, method, path, tag, summary string) huma.Operation {
	return huma.Operation{
		OperationID: id, Method: method, Path: Base + path, Tags: []string{tag}, Summary: summary,
		MaxBodyBytes: maxBody, SkipValidateParams: true, SkipValidateBody: true,
		Responses: map[string]*huma.Response{"default": {}}, // Filled in by complete.
	}
}
