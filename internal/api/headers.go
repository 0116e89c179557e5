package api

import (
	"net/http"

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
