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

// outer is the outermost middleware. outer sets the headers of every answer and the request id, recovers from panics,
// and writes the access log.
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

// panicked answers 500 if nothing was sent yet, and aborts the connection otherwise.
func (a *API) panicked(w *answerRecorder, r *http.Request, cause any) {
	err, isErr := cause.(error)
	switch {
	case isErr && errors.Is(err, http.ErrAbortHandler):
		panic(http.ErrAbortHandler)
	case r.Context().Err() != nil && isErr && w.status != 0: // The client disconnected during the answer.
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

// access logs a request at level debug.
func (a *API) access(w *answerRecorder, r *http.Request, started time.Time) {
	if !a.log.Enabled(r.Context(), slog.LevelDebug) {
		return
	}
	attrs := append(RequestAttrs(w, r), slog.Int("status", w.status), slog.Int64("bytes", w.bytes),
		slog.Duration("took", time.Since(started)))
	a.log.LogAttrs(r.Context(), slog.LevelDebug, "Request was answered.", attrs...)
}

// RequestAttrs returns the attributes of a request for the log. RequestAttrs leaves out the query, which can have data
// of the warehouse.
func RequestAttrs(w http.ResponseWriter, r *http.Request) []slog.Attr {
	return []slog.Attr{
		slog.String("request", w.Header().Get(requestIDHeader)), slog.String("method", r.Method),
		slog.String("path", r.URL.Path), slog.String("remote", r.RemoteAddr),
	}
}

// authenticated passes on requests that are authenticated, and requests that need no token. authenticated puts the
// identity of an authenticated request into the context.
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

// noOperation is the name under which requests for unknown paths are counted.
const noOperation = "(none)"

// counted counts each request that reaches the router. counted does not see requests that were refused for their token
// or their rate.
func (a *API) counted(routes *router) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		done := false
		defer func() {
			status := http.StatusOK
			if rec, ok := w.(*answerRecorder); ok && rec.status != 0 {
				status = rec.status
			}
			if !done { // The handler panicked.
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

// operationsOf returns the ids of the operations by route.
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

// traced makes a span for each request, named by its route. Health checks, metrics and pages get no span, because they
// are called all the time and would only fill the traces.
func (a *API) traced(routes *router, next http.Handler) http.Handler {
	if a.deps.Tracer == nil {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasPrefix(r.URL.Path, "/api/") {
			next.ServeHTTP(w, r)
			return
		}
		_, pattern := routes.Handler(r)
		if pattern == everything {
			pattern = r.Method + " (nothing)"
		}
		ctx, end := a.deps.Tracer.Request(r, pattern)
		status := http.StatusInternalServerError // The status if the handler panics.
		defer func() { end(status) }()
		next.ServeHTTP(w, r.WithContext(ctx)) //nolint:contextcheck // The context comes from the request.
		if rec, ok := w.(*answerRecorder); ok {
			status = rec.status
		}
	})
}

// requestIDHeader is the header with the id of a request. The log has the same id.
const requestIDHeader = "X-Request-Id"

// requestIDs generates request ids: a random prefix for the process, then a number.
type requestIDs struct {
	prefix string
	last   *atomic.Uint64
}

func newRequestIDs() requestIDs {
	var b [6]byte
	_, _ = rand.Read(b[:]) // Never fails.
	return requestIDs{prefix: hex.EncodeToString(b[:]) + "-", last: new(atomic.Uint64)}
}

func (ids requestIDs) next() string {
	return ids.prefix + strconv.FormatUint(ids.last.Add(1), 10)
}

// answerRecorder is a ResponseWriter that records the status and the size of the answer.
type answerRecorder struct {
	http.ResponseWriter

	status int // 0 = nothing was sent yet.
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

// Hijack hands over the connection. Only streams take over a connection, and only for an answer with status 200, so
// Hijack records 200.
func (w *answerRecorder) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	conn, rw, err := http.NewResponseController(w.ResponseWriter).Hijack()
	if err == nil {
		w.status = http.StatusOK
	}
	return conn, rw, err
}

// Unwrap returns the wrapped writer for http.ResponseController.
func (w *answerRecorder) Unwrap() http.ResponseWriter { return w.ResponseWriter }
