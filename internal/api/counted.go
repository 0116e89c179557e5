package api

import (
	"net/http"

	"github.com/danielgtaylor/huma/v2"
)

// noOperation is what a request is counted as that no operation answers.
const noOperation = "(none)"

// counted tells the meter of each request that has come as far as its operation: those without a good token, and those too many, are told
// elsewhere.
func (a *API) counted(routes *router) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		done := false
		defer func() {
			status := http.StatusOK
			if rec, ok := w.(*response); ok && rec.status != 0 {
				status = rec.status
			}
			if !done { // the handler has panicked
				status = http.StatusInternalServerError
			}
			operation := a.operations[r.Pattern]
			if operation == "" {
				operation = noOperation
			}
			a.deps.Meter.RequestDone(operation, status)
		}()
		routes.ServeHTTP(w, r)
		done = true
	})
}

// operationsOf are the ids of the operations by their routes.
func operationsOf(doc *huma.OpenAPI) map[string]string {
	ids := map[string]string{}
	for path, item := range doc.Paths {
		for _, op := range []*huma.Operation{item.Get, item.Post, item.Put, item.Patch, item.Delete} {
			if op != nil {
				ids[op.Method+" "+path] = op.OperationID
			}
		}
	}
	return ids
}
