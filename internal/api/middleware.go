package api

import (
	"errors"
	"log/slog"
	"net/http"
	"runtime/debug"
	"time"

	"tallyman/internal/auth"
	"tallyman/internal/wire"
)

// outer wraps everything: headers that every answer has, the request id, the end of a panic, the access log.
func (a *API) outer(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		started := time.Now()
		rec := &response{ResponseWriter: w}
		h := w.Header()
		h[requestIDHeader] = []string{a.ids.next()}
		secure(h, r)
		defer func() {
			if cause := recover(); cause != nil {
				a.panicked(rec, r, cause)
			}
			a.access(rec, r, started)
		}()
		next.ServeHTTP(rec, r)
	})
}

// panicked answers 500 where nothing was sent yet, and aborts the connection otherwise.
func (a *API) panicked(w *response, r *http.Request, cause any) {
	err, isErr := cause.(error)
	switch {
	case isErr && errors.Is(err, http.ErrAbortHandler):
		panic(http.ErrAbortHandler)
	case r.Context().Err() != nil && isErr && w.status != 0: // the client went away while we wrote
		a.log.LogAttrs(r.Context(), slog.LevelDebug, "the client left in the middle of an answer", RequestAttrs(w, r)...)
		return
	}
	attrs := append(RequestAttrs(w, r), slog.Any("panic", cause), slog.String("stack", string(debug.Stack())))
	a.log.LogAttrs(r.Context(), slog.LevelError, "a request made a handler panic", attrs...)
	if w.status != 0 {
		panic(http.ErrAbortHandler)
	}
	WriteProblem(w, InternalProblem(), ProblemMedia(r))
}

// Access logs a request at debug.
func (a *API) access(w *response, r *http.Request, started time.Time) {
	if !a.log.Enabled(r.Context(), slog.LevelDebug) {
		return
	}
	attrs := append(RequestAttrs(w, r), slog.Int("status", w.status), slog.Int64("bytes", w.bytes),
		slog.Duration("took", time.Since(started)))
	a.log.LogAttrs(r.Context(), slog.LevelDebug, "served", attrs...)
}

// RequestAttrs leaves the query out: it will carry what does not belong into a log.
func RequestAttrs(w http.ResponseWriter, r *http.Request) []slog.Attr {
	return []slog.Attr{
		slog.String("request", w.Header().Get(requestIDHeader)), slog.String("method", r.Method),
		slog.String("path", r.URL.Path), slog.String("remote", r.RemoteAddr),
	}
}

// authenticated lets those requests through that the authenticator knows, and those that need no token. The contexts of the former have the
// identity from then on.
func (a *API) authenticated(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if isOpen(r) {
			if err := a.callers.passing(r); err != nil {
				a.refused(w, r, err)
				return
			}
			next.ServeHTTP(w, r)
			return
		}
		who, err := a.callers.Authenticate(r)
		if err != nil {
			a.refused(w, r, err)
			return
		}
		next.ServeHTTP(w, r.WithContext(auth.With(r.Context(), &who)))
	})
}

func (a *API) refused(w http.ResponseWriter, r *http.Request, err error) {
	if busy, ok := errors.AsType[*busyError](err); ok {
		a.tooBusy(w, r, busy)
		return
	}
	if errors.Is(err, auth.ErrForeignHost) {
		WriteProblem(w, wire.NewProblem(http.StatusMisdirectedRequest, wire.CodeBadHost, err.Error()), ProblemMedia(r))
		return
	}
	if prob := Unauthorized(err); prob != nil {
		a.logRefusal(w, r, prob)
		WriteProblem(w, prob, ProblemMedia(r))
		return
	}
	a.log.LogAttrs(r.Context(), slog.LevelError, "cannot tell who is asking", append(RequestAttrs(w, r), slog.Any("error", err))...)
	WriteProblem(w, InternalProblem(), ProblemMedia(r))
}
