package api

import (
	"net/http"
	"slices"
	"strings"

	"tallyman/internal/wire"
)

// Header values that all answers share. Nobody may append to them.
var (
	nosniff      = []string{"nosniff"}
	noReferrer   = []string{"no-referrer"}
	noFrames     = []string{"DENY"}
	noContent    = []string{"default-src 'none'; frame-ancestors 'none'"}
	ownOrigin    = []string{"same-origin"}
	oneYearOfTLS = []string{"max-age=31536000"}
	noStore      = []string{"no-store"}

	// Vary is the header Vary of answers with texts in the client's language.
	Vary = []string{"Accept, Accept-Language, Authorization"}
)

// secure sets the security headers of every answer. The headers tell browsers that the answer is data and not a page. A
// handler that serves pages sets its own values.
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

// singleHeaders are the request headers that some part of the program reads as a single value. Lists such as Accept,
// Accept-Language, Accept-Encoding and If-None-Match may have several lines.
var singleHeaders = map[string]bool{
	"Authorization": true, "Content-Type": true, "Idempotency-Key": true, "Last-Event-Id": true, "User-Agent": true,
	"Origin": true, "Sec-Fetch-Site": true, "Access-Control-Request-Method": true, "Traceparent": true,
}

// onceOnly refuses a request that has one of singleHeaders twice. Otherwise a proxy could read the first line and the
// server the last line, and the two would see different requests.
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

// The methods and headers that a page of another origin may use, and the headers of answers that it may read.
var (
	corsMethods = strings.Join([]string{http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodDelete}, ", ")
	corsHeaders = strings.Join([]string{
		"Accept", "Accept-Language", "Authorization", "Cache-Control", "Content-Type", "Idempotency-Key", "If-None-Match", "Last-Event-ID",
	}, ", ")
	corsExposed = strings.Join([]string{"ETag", "Location", "Retry-After", requestIDHeader}, ", ")
)

// corsMemory is how long a browser may cache the answer of a preflight request, in seconds.
const corsMemory = "600"

// varyOrigin is a header value that all answers share. Nobody may append to it.
var varyOrigin = []string{"Origin"}

// shared lets pages of the configured origins call the API (CORS). Without configured origins, shared adds no headers,
// and browsers hide answers from pages of other origins.
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

// sameOrigin refuses requests with methods other than GET, HEAD and OPTIONS from pages of other origins, except the
// configured origins. Such a page could otherwise act through the browser of a user.
func (a *API) sameOrigin(next http.Handler) http.Handler {
	guard := http.NewCrossOriginProtection()
	for _, origin := range a.deps.HTTP.Origins {
		if err := guard.AddTrustedOrigin(origin); err != nil { // The configuration has checked the origin.
			panic(err)
		}
	}
	guard.SetDenyHandler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		WriteProblem(w, wire.NewProblem(http.StatusForbidden, wire.CodeCrossOrigin, "a page of another origin may not call this operation"), ProblemMedia(r))
	}))
	return guard.Handler(next)
}
