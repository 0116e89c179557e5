package api

import (
	"net/http"
	"slices"
	"strings"

	"tallyman/internal/wire"
)

// These header values are shared by all answers; nobody appends to them.
var (
	nosniff      = []string{"nosniff"}
	noReferrer   = []string{"no-referrer"}
	noFrames     = []string{"DENY"}
	noContent    = []string{"default-src 'none'; frame-ancestors 'none'"}
	ownOrigin    = []string{"same-origin"}
	oneYearOfTLS = []string{"max-age=31536000"}
	noStore      = []string{"no-store"}

	// Vary says what the answers depend on that have texts in the client's language.
	Vary = []string{"Accept, Accept-Language, Authorization"}
)

// secure sets what every answer tells browsers: it is data, not a page. A handler that serves pages sets its own.
func secure(h http.Header, r *http.Request) {
	h["X-Content-Type-Options"] = nosniff
	h["Referrer-Policy"] = noReferrer
	h["X-Frame-Options"] = noFrames
	h["Content-Security-Policy"] = noContent
	h["Cross-Origin-Resource-Policy"] = ownOrigin
	if r.TLS != nil {
		h["Strict-Transport-Security"] = oneYearOfTLS
	}
}

// singleHeaders are the request headers that are read as one value, by whatever part of the program. Lists are not among them: Accept,
// Accept-Language, Accept-Encoding and If-None-Match may come in several lines.
var singleHeaders = map[string]bool{
	"Authorization": true, "Content-Type": true, "Idempotency-Key": true, "Last-Event-Id": true, "User-Agent": true,
	"Origin": true, "Sec-Fetch-Site": true, "Access-Control-Request-Method": true, "Traceparent": true,
}

// onceOnly refuses requests that give one of them twice: who reads the first and who reads the last would see different requests.
func onceOnly(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for name, lines := range r.Header {
			if len(lines) > 1 && singleHeaders[name] {
				WriteProblem(w, wire.NewProblem(http.StatusBadRequest, wire.CodeRepeatedHeader, "header "+name+" is given more than once"), ProblemMedia(r))
				return
			}
		}
		next.ServeHTTP(w, r)
	})
}

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
			WriteProblem(w, wire.NewProblem(http.StatusForbidden, wire.CodeCrossOrigin, "pages of this origin may not call the API (http.cors.origins)"), ProblemMedia(r))
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
		WriteProblem(w, wire.NewProblem(http.StatusForbidden, wire.CodeCrossOrigin, "a page of another origin may not call this operation"), ProblemMedia(r))
	}))
	return guard.Handler(next)
}
