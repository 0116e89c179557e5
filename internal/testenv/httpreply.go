package testenv

import (
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"
)

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

// ReplyEcho answers with the status, and says in the text all that it was sent, as a careless server does.
func ReplyEcho(status int, headers ...string) HTTPReply {
	return func(w http.ResponseWriter, r HTTPRequest, gone <-chan struct{}) {
		var text strings.Builder
		text.WriteString(r.URI + "\n")
		_ = r.Header.Write(&text)
		text.Write(r.Body)
		ReplyStatus(status, text.String(), headers...)(w, r, gone)
	}
}

// ReplyHang answers nothing for as long as the client waits and the test goes on.
func ReplyHang(w http.ResponseWriter, _ HTTPRequest, gone <-chan struct{}) {
	c, _, err := http.NewResponseController(w).Hijack()
	if err != nil { // HTTP/2: the handler is held
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

// ReplyReset resets the connection instead of an answer.
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

// ReplyHuge answers with the status and then with text for as long as anybody reads it.
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
