package api

import (
	"encoding/json"
	"net/http"
	"strings"
	"sync"

	"tallyman/internal/wire"
)

// router is the standard mux with problems instead of plain text for unknown paths. router records its patterns, so
// that a test can compare them with the OpenAPI document.
type router struct {
	*http.ServeMux

	patterns []string // "METHOD /path"
}

// everything is the pattern that matches if no other pattern does.
const everything = "/"

func newRouter() *router {
	rt := &router{ServeMux: http.NewServeMux()}
	rt.ServeMux.HandleFunc(everything, rt.missing)
	return rt
}

// HandleFunc registers a handler for "METHOD /path". The OpenAPI library calls HandleFunc, too.
func (rt *router) HandleFunc(pattern string, handler func(http.ResponseWriter, *http.Request)) {
	rt.patterns = append(rt.patterns, pattern)
	rt.ServeMux.HandleFunc(pattern, handler)
}

// missing answers 405 if the path exists with another method, and 404 otherwise.
func (rt *router) missing(w http.ResponseWriter, r *http.Request) {
	var allow []string
	for _, method := range []string{http.MethodGet, http.MethodPost, http.MethodPut, http.MethodDelete} {
		other := *r
		other.Method = method
		if _, pattern := rt.Handler(&other); pattern != everything {
			allow = append(allow, method)
		}
		if method == http.MethodGet && len(allow) > 0 {
			allow = append(allow, http.MethodHead) // The mux answers HEAD with the handler of GET.
		}
	}
	if len(allow) == 0 {
		WriteProblem(w, wire.NewProblem(http.StatusNotFound, wire.CodeNotFound, "there is nothing at this path"), ProblemMedia(r))
		return
	}
	w.Header().Set("Allow", strings.Join(allow, ", "))
	WriteProblem(w, wire.NewProblem(http.StatusMethodNotAllowed, wire.CodeMethodNotAllowed, "this path takes "+strings.Join(allow, " or ")+" only"), ProblemMedia(r))
}

// register registers all operations on the router. register returns a function that makes the OpenAPI document.
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
	return sync.OnceValue(func() []byte { // Made at the first request, because most nodes never get one.
		spec, err := json.Marshal(doc)
		if err != nil { // The document is made from the program's own types.
			panic(err)
		}
		return spec
	})
}

func (a *API) openapi(w http.ResponseWriter, _ *http.Request) { writeBody(w, MediaJSON, a.spec()) }
