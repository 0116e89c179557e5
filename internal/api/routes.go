package api

import (
	"encoding/json"
	"net/http"
	"sync"

	"github.com/danielgtaylor/huma/v2"
)

// Base is where the API's first version lives.
const Base = "/api/v1"

// Bodies of one thing, and of an import of 10,000 subscriptions.
const (
	maxBody = 64 << 10
)

// register serves everything on the router and returns what makes the OpenAPI document that describes it.
func (a *API) register(routes *router) (document func() []byte) {
	operations := newOperations(routes, a.deps.Version, a.checkedBody)
	served := &Operations{API: operations, Waiters: a.waiters}
	for _, room := range a.rooms {
		room.Register(served)
	}
	handlers := map[string]http.HandlerFunc{"healthz": a.healthz, "readyz": a.readyz, "metrics": a.metrics(), "openapi": a.openapi}
	for _, op := range plainOperations() {
		served.Handle(op, handlers[op.OperationID])
	}
	doc := operations.OpenAPI()
	for _, p := range served.plain {
		doc.AddOperation(p.operation)
		routes.HandleFunc(p.operation.Method+" "+p.operation.Path, guarded(p.operation.OperationID, p.handler))
	}
	mustHaveAccess(doc)
	nameSinkTypes(doc, a.deps.SinkTypes)
	complete(doc)
	a.operations, a.bodies = operationsOf(doc), mustCheckBodies(doc)
	return sync.OnceValue(func() []byte { // hardly a node is ever asked for it
		spec, err := json.Marshal(doc)
		if err != nil { // it is made of the program's own types
			panic(err)
		}
		return spec
	})
}

func (a *API) openapi(w http.ResponseWriter, _ *http.Request) { writeBody(w, MediaJSON, a.spec()) }

// Operation is one that the OpenAPI library serves. Parameters are checked by the handlers, so that each fault has the
// code that it has everywhere; bodies are checked against their schema by checkedBody.
func Operation(id, method, path, tag, summary string) huma.Operation {
	return huma.Operation{
		OperationID: id, Method: method, Path: Base + path, Tags: []string{tag}, Summary: summary,
		MaxBodyBytes: maxBody, SkipValidateParams: true, SkipValidateBody: true,
		Responses: map[string]*huma.Response{"default": {}}, // completed later
	}
}
