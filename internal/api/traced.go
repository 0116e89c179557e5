package api

import (
	"net/http"
	"strings"
)

// traced makes a span of each request, named after what it was routed to. What is asked all the time and tells nothing has none.
func (a *API) traced(routes *router, next http.Handler) http.Handler {
	if a.deps.Tracer == nil {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasPrefix(r.URL.Path, "/api/") && !strings.HasPrefix(r.URL.Path, "/legacy/") {
			next.ServeHTTP(w, r)
			return
		}
		_, pattern := routes.Handler(r)
		if pattern == everything {
			pattern = r.Method + " (nothing)"
		}
		ctx, end := a.deps.Tracer.Request(r, pattern)
		status := http.StatusInternalServerError // of a handler that panics
		defer func() { end(status) }()
		next.ServeHTTP(w, r.WithContext(ctx)) //nolint:contextcheck // it is made of the request's
		if rec, ok := w.(*response); ok {
			status = rec.status
		}
	})
}
