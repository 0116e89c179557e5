package webhook

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"sync"
	"syscall"
	"time"
)

// dial makes a connection; see net.Dialer.
type dial = func(ctx context.Context, network, address string) (net.Conn, error)

// lines are the connections of small calls without TLS. There the goroutine of a call writes the request and reads the answer itself; the client of
// net/http has two goroutines for each connection, and handing work to them and back costs more than the call.
type lines struct {
	address string
	dial    dial
	head    []byte        // of a request: what each has in common
	most    int           // that wait
	idleFor time.Duration // they wait so long

	mu      sync.Mutex
	waiting []*line // for the next call; the one that was used last is the last
	reaper  *time.Timer
}

// newLines is nil where calls cannot be made so.
func newLines(u *url.URL, h http.Header, o *Options, d dial) (*lines, error) {
	if u.Scheme != "http" || !canLook || !isPlain(u.Host) { // a name in other letters is translated by net/http
		return nil, nil
	}
	head, err := commonHead(u, h)
	return &lines{address: net.JoinHostPort(u.Hostname(), cmp.Or(u.Port(), "80")), dial: d, head: head, most: o.Connections, idleFor: idleFor}, err
}

// commonHead is the head of a request as net/http writes it, up to the headers that are the call's own.
func commonHead(u *url.URL, h http.Header) ([]byte, error) {
	var out bytes.Buffer
	req := &http.Request{Method: http.MethodPost, URL: u, Host: u.Host, Header: h}
	if err := req.Write(&out); err != nil {
		return nil, fmt.Errorf("webhook: %w", err)
	}
	head := bytes.Replace(out.Bytes(), []byte("\r\nContent-Length: 0\r\n"), []byte("\r\n"), 1)
	return bytes.TrimSuffix(head, []byte("\r\n")), nil
}

// isPlain tells whether a text can stand in a head as it is.
func isPlain(s string) bool {
	for i := range len(s) {
		if s[i] < ' ' || s[i] > '~' {
			return false
		}
	}
	return true
}

// line is a connection, of one call at a time.
type line struct {
	net.Conn

	raw   syscall.RawConn
	out   []byte           // the request
	bound io.LimitedReader // of the connection
	in    *bufio.Reader    // of bound
	since time.Time        // it waits
}

// connect makes a new one.
func (l *lines) connect(ctx context.Context) (*line, error) {
	conn, err := l.dial(ctx, "tcp", l.address)
	if err != nil {
		return nil, err
	}
	c := &line{Conn: conn, bound: io.LimitedReader{R: conn}}
	c.in = bufio.NewReader(&c.bound)
	if s, ok := conn.(syscall.Conn); ok {
		c.raw, err = s.SyscallConn()
	}
	return c, err
}

// take returns one that waits, nil where none does. One whose server has closed it, or has said something that nobody asked for, is of no use.
func (l *lines) take() *line {
	for {
		c := l.last()
		if c == nil || isQuiet(c.raw) {
			return c
		}
		_ = c.Close()
	}
}

func (l *lines) last() *line {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := len(l.waiting)
	if n == 0 {
		return nil
	}
	c := l.waiting[n-1]
	l.waiting[n-1], l.waiting = nil, l.waiting[:n-1]
	return c
}

// keep has it wait for the next call.
func (l *lines) keep(c *line) {
	c.since = time.Now()
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.waiting) >= l.most {
		_ = c.Close()
		return
	}
	l.waiting = append(l.waiting, c)
	if l.reaper == nil {
		l.reaper = time.AfterFunc(l.idleFor, l.reap)
	}
}

// reap closes those that have waited for too long.
func (l *lines) reap() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for len(l.waiting) > 0 {
		if left := l.idleFor - time.Since(l.waiting[0].since); left > 0 {
			l.reaper = time.AfterFunc(left, l.reap)
			return
		}
		_ = l.waiting[0].Close()
		l.waiting = l.waiting[1:]
	}
	l.reaper = nil
}

// close closes those that wait.
func (l *lines) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, c := range l.waiting {
		_ = c.Close()
	}
	l.waiting = nil
	if l.reaper != nil {
		l.reaper.Stop()
		l.reaper = nil
	}
}
