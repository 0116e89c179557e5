package api

import (
	"bufio"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"runtime/debug"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"tallyman/internal/auth"
	"tallyman/internal/wire"
)

// outer wraps everything: headers that every answer has, the request id, the end of a panic, the access log.
func (a *API) outer(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		started := time.Now()
		rec := &answerRecorder{ResponseWriter: w}
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
func (a *API) panicked(w *answerRecorder, r *http.Request, cause any) {
	err, isErr := cause.(error)
	switch {
	case isErr && errors.Is(err, http.ErrAbortHandler):
		panic(http.ErrAbortHandler)
	case r.Context().Err() != nil && isErr && w.status != 0: // the client went away while we wrote
		a.log.LogAttrs(r.Context(), slog.LevelDebug, "Client disconnected in the middle of an answer.", RequestAttrs(w, r)...)
		return
	}
	attrs := append(RequestAttrs(w, r), slog.Any("panic", cause), slog.String("stack", string(debug.Stack())))
	a.log.LogAttrs(r.Context(), slog.LevelError, "Request failed, because its handler panicked.", attrs...)
	if w.status != 0 {
		panic(http.ErrAbortHandler)
	}
	WriteProblem(w, InternalProblem(), ProblemMedia(r))
}

// Access logs a request at debug.
func (a *API) access(w *answerRecorder, r *http.Request, started time.Time) {
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
	a.log.LogAttrs(r.Context(), slog.LevelError, "Caller of a request could not be authenticated.", append(RequestAttrs(w, r), slog.Any("error", err))...)
	WriteProblem(w, InternalProblem(), ProblemMedia(r))
}

// noOperation is what a request is counted as that no operation answers.
const noOperation = "(none)"

// counted tells the meter of each request that has come as far as its operation: those without a good token, and those too many, are told
// elsewhere.
func (a *API) counted(routes *router) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		done := false
		defer func() {
			status := http.StatusOK
			if rec, ok := w.(*answerRecorder); ok && rec.status != 0 {
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
		if rec, ok := w.(*answerRecorder); ok {
			status = rec.status
		}
	})
}

// requestIDHeader names a request in the answer and in the log.
const requestIDHeader = "X-Request-Id"

// requestIDs numbers the requests of a process behind a random prefix.
type requestIDs struct {
	prefix string
	last   *atomic.Uint64
}

func newRequestIDs() requestIDs {
	var b [6]byte
	_, _ = rand.Read(b[:]) // it never fails
	return requestIDs{prefix: hex.EncodeToString(b[:]) + "-", last: new(atomic.Uint64)}
}

func (ids requestIDs) next() string {
	return ids.prefix + strconv.FormatUint(ids.last.Add(1), 10)
}

// answerRecorder remembers what was answered.
type answerRecorder struct {
	http.ResponseWriter

	status int // 0 = nothing yet
	bytes  int64
}

// WriteHeader sends the status.
func (w *answerRecorder) WriteHeader(status int) {
	if w.status == 0 {
		w.status = status
	}
	w.ResponseWriter.WriteHeader(status)
}

// Write sends a part of the body.
func (w *answerRecorder) Write(p []byte) (int, error) {
	if w.status == 0 {
		w.status = http.StatusOK
	}
	n, err := w.ResponseWriter.Write(p)
	w.bytes += int64(n)
	return n, err
}

// Hijack hands over the connection. Whoever takes it answers by himself, and only what succeeds is answered so.
func (w *answerRecorder) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	conn, rw, err := http.NewResponseController(w.ResponseWriter).Hijack()
	if err == nil {
		w.status = http.StatusOK
	}
	return conn, rw, err
}

// Unwrap gives http.ResponseController what it works on.
func (w *answerRecorder) Unwrap() http.ResponseWriter { return w.ResponseWriter }
