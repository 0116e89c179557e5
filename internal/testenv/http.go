package testenv

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// HTTPServer is a web server whose answers a test sets. It keeps the requests that it got.
type HTTPServer struct {
	*httptest.Server

	mu     sync.Mutex
	next   []HTTPReply
	always HTTPReply
	asked  []HTTPRequest
	gone   chan struct{} // Closed when the test ends.
}

// HTTPRequest is a request that the server got. The body is complete, unless the client broke off.
type HTTPRequest struct {
	Method string
	URI    string
	Proto  string
	Header http.Header
	Body   []byte
	At     time.Time // When the server had read the body.
	From   string    // The address of the client's connection.
}

// HTTPReply answers one request. gone is closed when the test ends.
type HTTPReply func(w http.ResponseWriter, r HTTPRequest, gone <-chan struct{})

// NewHTTPServer starts a server that answers 204 No Content to every request.
func NewHTTPServer(t testing.TB) *HTTPServer {
	t.Helper()
	s := UnstartedHTTPServer(t)
	s.Start()
	return s
}

// UnstartedHTTPServer returns a server that the caller must start, for example with StartTLS.
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

// Next adds answers for the next requests, one for each request.
func (s *HTTPServer) Next(replies ...HTTPReply) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.next = append(s.next, replies...)
}

// Always sets the answer of each request for which Next has no answer.
func (s *HTTPServer) Always(reply HTTPReply) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.always = reply
}

// Requests returns the requests so far, in the order in which they came.
func (s *HTTPServer) Requests() []HTTPRequest {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.asked)
}

// Asked returns the number of requests so far.
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

// ReplyStatus answers with the status, the text, and headers given as name, value, name, value.
func ReplyStatus(status int, text string, headers ...string) HTTPReply {
	return func(w http.ResponseWriter, _ HTTPRequest, _ <-chan struct{}) {
		for i := 0; i+1 < len(headers); i += 2 {
			w.Header().Set(headers[i], headers[i+1])
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, text)
	}
}

// ReplyEcho answers with the status, and with the address, the headers and the body of the request, as a careless
// server does.
func ReplyEcho(status int, headers ...string) HTTPReply {
	return func(w http.ResponseWriter, r HTTPRequest, gone <-chan struct{}) {
		var text strings.Builder
		text.WriteString(r.URI + "\n")
		_ = r.Header.Write(&text)
		text.Write(r.Body)
		ReplyStatus(status, text.String(), headers...)(w, r, gone)
	}
}

// ReplyHang never answers. It holds the request until the client leaves or the test ends.
func ReplyHang(w http.ResponseWriter, _ HTTPRequest, gone <-chan struct{}) {
	c, _, err := http.NewResponseController(w).Hijack()
	if err != nil { // HTTP/2: only the end of the test ends the handler.
		<-gone
		return
	}
	defer func() { _ = c.Close() }()
	left := make(chan struct{})
	go func() {
		defer close(left)
		_, _ = io.Copy(io.Discard, c)
	}()
	select {
	case <-left:
	case <-gone:
	}
	_ = c.Close()
	<-left
}

// ReplyReset resets the connection and does not answer.
func ReplyReset(w http.ResponseWriter, _ HTTPRequest, _ <-chan struct{}) {
	c, _, err := http.NewResponseController(w).Hijack()
	if err != nil { // HTTP/2: the stream is reset
		panic(http.ErrAbortHandler)
	}
	if tcp, ok := c.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	_ = c.Close()
}

// ReplyCut answers with the status and closes the connection in the middle of the text.
func ReplyCut(status int, text string) HTTPReply {
	return func(w http.ResponseWriter, _ HTTPRequest, _ <-chan struct{}) {
		w.Header().Set("Content-Length", strconv.Itoa(2*len(text)+2))
		w.WriteHeader(status)
		_, _ = io.WriteString(w, text)
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	}
}

// ReplySlowly answers with the status at once and then with one byte of text at each pause, without end.
func ReplySlowly(status int, pause time.Duration) HTTPReply {
	return func(w http.ResponseWriter, _ HTTPRequest, gone <-chan struct{}) {
		w.WriteHeader(status)
		tick := time.NewTicker(pause)
		defer tick.Stop()
		for {
			if _, err := io.WriteString(w, "."); err != nil {
				return
			}
			if http.NewResponseController(w).Flush() != nil {
				return
			}
			select {
			case <-gone:
				return
			case <-tick.C:
			}
		}
	}
}

// ReplyHuge answers with the status and then with text, until the client stops reading or the test ends.
func ReplyHuge(status int) HTTPReply {
	return func(w http.ResponseWriter, _ HTTPRequest, gone <-chan struct{}) {
		w.WriteHeader(status)
		line := strings.Repeat("all work and no play ", 1000)
		for {
			if _, err := io.WriteString(w, line); err != nil {
				return
			}
			select {
			case <-gone:
				return
			default:
			}
		}
	}
}
