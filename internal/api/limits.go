package api

import (
	"log/slog"
	"math"
	"net/http"
	"time"

	"tallyman/internal/wire"
)

// Rate bounds how often a caller may ask. A long poll and a stream count once.
type Rate struct {
	Requests float64 // in a second, of each token, and of each address that needs none; 0 = no limit
	Burst    int     // at once, after a rest
	Failures float64 // different wrong credentials in a second, of each address; 0 = no limit
	Tries    int     // of them at once
}

// limited answers 431 to requests whose head is too large, and keeps those who ask too often out.
func (a *API) limited(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if headSize(r) > maxHead {
			WriteProblem(w, wire.NewProblem(http.StatusRequestHeaderFieldsTooLarge, wire.CodeHeadersTooLarge,
				"the request's address and headers take more than 32 KB together"), ProblemMedia(r))
			return
		}
		next.ServeHTTP(w, r)
	})
}

// headSize is about what the request line and the headers took.
func headSize(r *http.Request) int {
	n := len(r.RequestURI)
	for name, lines := range r.Header {
		for _, line := range lines {
			n += len(name) + len(line) + 4
		}
	}
	return n
}

// busyError says that a caller has to wait.
type busyError struct {
	caller string
	wait   time.Duration
	news   bool // it was not told lately
	detail string
}

func (e *busyError) Error() string { return e.caller + " asks too often" }

// tooBusy answers 429.
func (a *API) tooBusy(w http.ResponseWriter, r *http.Request, e *busyError) {
	if e.news {
		a.log.LogAttrs(r.Context(), slog.LevelWarn, "somebody asks too often and is told to wait", append(RequestAttrs(w, r), slog.String("caller", e.caller))...)
	}
	p := wire.NewProblem(http.StatusTooManyRequests, wire.CodeTooManyRequests, e.detail)
	p.RetryAfter = max(1, int(math.Ceil(e.wait.Seconds())))
	WriteProblem(w, p, ProblemMedia(r))
}
