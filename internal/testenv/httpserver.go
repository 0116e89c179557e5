package testenv

import (
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"time"
)

// HTTPServer is a web server that answers as a test tells it, and keeps what it was asked.
type HTTPServer struct {
	*httptest.Server

	mu     sync.Mutex
	next   []HTTPReply
	always HTTPReply
	asked  []HTTPRequest
	gone   chan struct{} // closed when the test ends
}

// HTTPRequest is what the server was asked. The body is whole, unless the client left in the middle of it.
type HTTPRequest struct {
	Method string
	URI    string
	Proto  string
	Header http.Header
	Body   []byte
	At     time.Time // when the body had come
	From   string    // address of the client's connection
}

// HTTPReply answers one request. gone is closed when the test ends.
type HTTPReply func(w http.ResponseWriter, r HTTPRequest, gone <-chan struct{})

// NewHTTPServer starts one that answers 204 No Content to everything.
func NewHTTPServer(t testing.TB) *HTTPServer {
	t.Helper()
	s := UnstartedHTTPServer(t)
	s.Start()
	return s
}

// UnstartedHTTPServer is one that is still to be started, as with StartTLS.
func UnstartedHTTPServer(t testing.TB) *HTTPServer {
	t.Helper()
	s := &HTTPServer{always: ReplyStatus(http.StatusNoContent, ""), gone: make(chan struct{})}
	s.Server = httptest.NewUnstartedServer(http.HandlerFunc(s.serve))
	s.Config.ErrorLog = nil
	t.Cleanup(func() {
		close(s.gone)
		s.CloseClientConnections()
		s.Close()
	})
	return s
}

// Next has the next requests answered so, one each.
func (s *HTTPServer) Next(replies ...HTTPReply) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.next = append(s.next, replies...)
}

// Always has all others answered so.
func (s *HTTPServer) Always(reply HTTPReply) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.always = reply
}

// Requests returns what it was asked by now, in the order of coming.
func (s *HTTPServer) Requests() []HTTPRequest {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.asked)
}

// Asked counts the requests by now.
func (s *HTTPServer) Asked() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.asked)
}

func (s *HTTPServer) serve(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	asked := HTTPRequest{
		Method: r.Method, URI: r.RequestURI, Proto: r.Proto, Header: r.Header.Clone(), Body: body, At: time.Now(), From: r.RemoteAddr,
	}
	s.enter(asked)(w, asked, s.gone)
}

func (s *HTTPServer) enter(r HTTPRequest) HTTPReply {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked = append(s.asked, r)
	reply := s.always
	if len(s.next) > 0 {
		reply, s.next = s.next[0], s.next[1:]
	}
	return reply
}
