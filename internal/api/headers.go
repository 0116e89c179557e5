package api

import "net/http"

// These header values are shared by all answers; nobody appends to them.
var (
	nosniff      = []string{"nosniff"}
	noReferrer   = []string{"no-referrer"}
	noFrames     = []string{"DENY"}
	noContent    = []string{"default-src 'none'; frame-ancestors 'none'"}
	ownOrigin    = []string{"same-origin"}
	oneYearOfTLS = []string{"max-age=31536000"}
	noStore      = []string{"no-store"}
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
