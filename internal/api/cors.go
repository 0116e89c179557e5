package api

import (
	"net/http"
	"slices"
	"strings"

	"tallyman/internal/wire"
)

// What a page of another origin may send, and see of an answer.
var (
	corsMethods = strings.Join([]string{http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodDelete}, ", ")
	corsHeaders = strings.Join([]string{
		"Accept", "Accept-Language", "Authorization", "Cache-Control", "Content-Type", "Idempotency-Key", "If-None-Match", "Last-Event-ID",
	}, ", ")
	corsExposed = strings.Join([]string{"ETag", "Location", "Retry-After", requestIDHeader}, ", ")
)

// corsMemory is how many seconds a browser may remember what it was allowed.
const corsMemory = "600"

// varyOrigin is shared by all answers; nobody appends to it.
var varyOrigin = []string{"Origin"}

// shared lets pages of the configured origins call. Without any, the browsers' own rule holds: no page of another origin sees an answer.
func (a *API) shared(next http.Handler) http.Handler {
	origins := a.deps.HTTP.Origins
	if len(origins) == 0 {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h["Vary"] = varyOrigin
		origin := HeaderValue(r, "Origin")
		known := slices.Contains(origins, origin)
		if known {
			h.Set("Access-Control-Allow-Origin", origin)
			h.Set("Access-Control-Allow-Credentials", "true")
			h.Set("Access-Control-Expose-Headers", corsExposed)
		}
		if r.Method != http.MethodOptions || r.Header.Get("Access-Control-Request-Method") == "" {
			next.ServeHTTP(w, r)
			return
		}
		h["Vary"] = []string{"Origin, Access-Control-Request-Method, Access-Control-Request-Headers"}
		if !known {
			WriteProblem(w, wire.NewProblem(http.StatusForbidden, wire.CodeCrossOrigin, "pages of this origin may not call (http.cors.origins)"), ProblemMedia(r))
			return
		}
		h.Set("Access-Control-Allow-Methods", corsMethods)
		h.Set("Access-Control-Allow-Headers", corsHeaders)
		h.Set("Access-Control-Max-Age", corsMemory)
		w.WriteHeader(http.StatusNoContent)
	})
}

// sameOrigin keeps pages of other sites, but those of the configured origins, from changing anything through a user's browser.
func (a *API) sameOrigin(next http.Handler) http.Handler {
	guard := http.NewCrossOriginProtection()
	for _, origin := range a.deps.HTTP.Origins {
		if err := guard.AddTrustedOrigin(origin); err != nil { // the configuration has checked it
			panic(err)
		}
	}
	guard.SetDenyHandler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		WriteProblem(w, wire.NewProblem(http.StatusForbidden, wire.CodeCrossOrigin, "a page of another origin may not do this"), ProblemMedia(r))
	}))
	return guard.Handler(next)
}
