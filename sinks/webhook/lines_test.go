package webhook_test

import (
	"bufio"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"tallyman/sinks/webhook"
)

// script is a server that says on its connections, one after the other, what a test has written down.
type script struct {
	url string

	mu   sync.Mutex
	keys []string // of what it was asked
}

// turn is what the server does on a connection; then it closes it.
type turn func(s *script, c net.Conn, in *bufio.Reader)

func newScript(t *testing.T, turns ...turn) *script {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &script{url: "http://" + listener.Addr().String()}
	var serving sync.WaitGroup
	serving.Go(func() {
		for _, turn := range turns {
			c, err := listener.Accept()
			if err != nil {
				return
			}
			serving.Go(func() {
				defer func() { _ = c.Close() }()
				turn(s, c, bufio.NewReader(c))
			})
		}
	})
	t.Cleanup(func() {
		_ = listener.Close()
		serving.Wait()
	})
	return s
}

// hear reads a request.
func (s *script) hear(in *bufio.Reader) {
	r, err := http.ReadRequest(in)
	if err != nil {
		return
	}
	_, _ = io.Copy(io.Discard, r.Body)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.keys = append(s.keys, r.Header.Get("Idempotency-Key"))
}

func (s *script) asked() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string{}, s.keys...)
}

const taken = "HTTP/1.1 204 No Content\r\n\r\n"

// answers hears a request for each of the answers, and gives it.
func answers(texts ...string) turn {
	return func(s *script, c net.Conn, in *bufio.Reader) {
		for _, text := range texts {
			s.hear(in)
			_, _ = io.WriteString(c, text)
		}
	}
}

// TestServerHangsUp proves that a server that closes a connection that has waited is asked again, on another, and that one that closes a new
// connection has failed.
func TestServerHangsUp(t *testing.T) {
	t.Parallel()
	s := newScript(t, answers(taken, ""), answers(taken))
	w := newWebhook(t, webhook.Options{URL: s.url})
	for i := range int64(2) {
		if err := push(t, w, one(i+1)); err != nil {
			t.Errorf("call %d: %v", i+1, err)
		}
	}
	if keys := s.asked(); len(keys) != 3 || keys[1] != keys[2] || keys[0] == keys[1] {
		t.Errorf("it was asked %q", keys)
	}

	s = newScript(t, answers(""), answers(taken))
	w = newWebhook(t, webhook.Options{URL: s.url})
	if err := push(t, w, one(1)); !has(err, "did not answer: EOF") {
		t.Errorf("a new connection: %v", err)
	}
	if n := len(s.asked()); n != 1 {
		t.Errorf("it was asked %d times", n)
	}
}

// TestOnceMore proves that a call is repeated once at most.
func TestOnceMore(t *testing.T) {
	t.Parallel()
	s := newScript(t, answers(taken, ""), answers(""), answers(taken))
	w := newWebhook(t, webhook.Options{URL: s.url})
	if err := push(t, w, one(1)); err != nil {
		t.Fatal(err)
	}
	if err := push(t, w, one(2)); !has(err, "did not answer") {
		t.Errorf("twice without an answer: %v", err)
	}
	if n := len(s.asked()); n != 3 {
		t.Errorf("it was asked %d times", n)
	}
}

// held answers, and leaves it to the other side to close the connection.
func held(texts ...string) turn {
	return func(s *script, c net.Conn, in *bufio.Reader) {
		answers(texts...)(s, c, in)
		_, _ = in.Peek(1)
	}
}

// TestUnasked proves that what a server says without being asked is no answer to the next call.
func TestUnasked(t *testing.T) {
	t.Parallel()
	speak, said := make(chan struct{}), make(chan struct{})
	s := newScript(t, func(s *script, c net.Conn, in *bufio.Reader) {
		answers(taken)(s, c, in)
		<-speak
		_, _ = io.WriteString(c, "HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")
		close(said)
		_, _ = in.Peek(1)
	}, answers(taken))
	w := newWebhook(t, webhook.Options{URL: s.url})
	err := push(t, w, one(1))
	close(speak)
	<-said
	if err := errors.Join(err, push(t, w, one(2))); err != nil {
		t.Error(err)
	}
	if n := len(s.asked()); n != 2 {
		t.Errorf("it was asked %d times", n)
	}
}

// TestConnectionsNotKept proves after which answers a connection is used no more, although the server leaves it open.
func TestConnectionsNotKept(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		taken + "HTTP/1.1 400 Bad Request\r\n\r\n":                                      "",
		"HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n":                          "",
		"HTTP/1.0 204 No Content\r\n\r\n":                                               "",
		"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n": "answered 101",
	} {
		s := newScript(t, held(text, "HTTP/1.1 400 Bad Request\r\n\r\n"), answers(taken))
		w := newWebhook(t, webhook.Options{URL: s.url})
		if err := push(t, w, one(1)); want == "" && err != nil || want != "" && !has(err, want) {
			t.Errorf("%q: %v", text, err)
		}
		if err := push(t, w, one(2)); err != nil {
			t.Errorf("after %q: %v", text, err)
		}
	}
}

// TestBeforeTheAnswer proves that what comes before an answer is passed by.
func TestBeforeTheAnswer(t *testing.T) {
	t.Parallel()
	s := newScript(t, answers("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n"+taken))
	if err := push(t, newWebhook(t, webhook.Options{URL: s.url}), one(1)); err != nil {
		t.Error(err)
	}
}

// TestNoHTTP proves that what is no answer is an error, however long it is.
func TestNoHTTP(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"220 mail.example.com ESMTP\r\n":                              "did not answer: malformed HTTP",
		"HTTP/1.1 204 No Con":                                         "did not answer: unexpected EOF",
		"HTTP/1.1 204 No Content\r\nX: " + strings.Repeat("x", 70000): "too long",
		strings.Repeat("HTTP/1.1 100 Continue\r\n\r\n", 3000) + taken: "too long",
	} {
		s := newScript(t, answers(text))
		if err := push(t, newWebhook(t, webhook.Options{URL: s.url}), one(1)); !has(err, want) {
			t.Errorf("%.30q: %v", text, err)
		}
	}
}

// TestIdleConnections proves that connections are not kept for longer than is agreed.
func TestIdleConnections(t *testing.T) {
	t.Parallel()
	closed := make(chan struct{})
	s := newScript(t, func(s *script, c net.Conn, in *bufio.Reader) {
		held(taken)(s, c, in)
		close(closed)
	})
	w := newWebhook(t, webhook.Options{URL: s.url})
	w.IdleFor(20 * time.Millisecond)
	if err := push(t, w, one(1)); err != nil {
		t.Fatal(err)
	}
	select {
	case <-closed:
	case <-time.After(within):
		t.Error("it is still there")
	}
}
