package api

import (
	"bufio"
	"crypto/rand"
	"encoding/hex"
	"net"
	"net/http"
	"strconv"
	"sync/atomic"
)

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

// response remembers what was answered.
type response struct {
	http.ResponseWriter

	status int // 0 = nothing yet
	bytes  int64
}

// WriteHeader sends the status.
func (w *response) WriteHeader(status int) {
	if w.status == 0 {
		w.status = status
	}
	w.ResponseWriter.WriteHeader(status)
}

// Write sends a part of the body.
func (w *response) Write(p []byte) (int, error) {
	if w.status == 0 {
		w.status = http.StatusOK
	}
	n, err := w.ResponseWriter.Write(p)
	w.bytes += int64(n)
	return n, err
}

// Hijack hands over the connection. Whoever takes it answers by himself, and only what succeeds is answered so.
func (w *response) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	conn, rw, err := http.NewResponseController(w.ResponseWriter).Hijack()
	if err == nil {
		w.status = http.StatusOK
	}
	return conn, rw, err
}

// Unwrap gives http.ResponseController what it works on.
func (w *response) Unwrap() http.ResponseWriter { return w.ResponseWriter }
