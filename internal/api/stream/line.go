package stream

import (
	"bytes"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"time"
)

// line is the connection to the client of a stream. Only one goroutine may send at a time.
type line interface {
	// send fails if the client does not read all parts in time.
	send(parts net.Buffers, within time.Duration) error
	// hurry shortens the time of the current send. Another goroutine may call hurry.
	hurry(within time.Duration)
	close()
}

// openLine sends the head of the answer. openLine takes over a connection of HTTP/1 from the server. The server's
// buffers and goroutine would cost many times the memory that an idle stream needs. Such a connection calls gone when
// the client disconnects. With HTTP/2 hold is true: then the handler must not return before the stream is done, and
// gone is never called.
func openLine(w http.ResponseWriter, r *http.Request, gone func()) (l line, hold bool, err error) {
	rc := http.NewResponseController(w)
	if r.ProtoMajor == 1 {
		conn, _, err := rc.Hijack()
		if err == nil {
			l, err := newConnLine(conn, w.Header(), gone)
			return l, false, err
		}
		if !errors.Is(err, http.ErrNotSupported) {
			return nil, false, err
		}
	}
	w.WriteHeader(http.StatusOK)
	return &responseLine{w: w, rc: rc}, true, nil
}

// connLine is a connection of HTTP/1 that was taken over. The answer ends with the connection.
type connLine struct{ conn net.Conn }

// sendBuffer is the size of the kernel's send buffer, in bytes. The size is small, so that a client that does not read
// costs little memory.
const sendBuffer = 64 << 10

func newConnLine(conn net.Conn, h http.Header, gone func()) (*connLine, error) {
	raw := conn
	if secure, ok := conn.(*tls.Conn); ok {
		raw = secure.NetConn()
	}
	if tcp, ok := raw.(*net.TCPConn); ok {
		_ = tcp.SetWriteBuffer(sendBuffer) // Without it the buffer is larger, which is harmless.
	}
	if err := conn.SetDeadline(time.Time{}); err != nil { // Removes the server's timeouts.
		return nil, errors.Join(err, conn.Close())
	}
	h.Set("Connection", "close")
	h.Set("Date", time.Now().UTC().Format(http.TimeFormat))
	var head bytes.Buffer
	head.WriteString("HTTP/1.1 200 OK\r\n")
	if err := h.Write(&head); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	head.WriteString("\r\n")
	l := &connLine{conn}
	if err := l.send(net.Buffers{head.Bytes()}, readTimeout); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	go l.watch(gone)
	return l, nil
}

// watch calls gone when the client disconnects, or sends something, which a client of a stream must not do.
func (l *connLine) watch(gone func()) {
	var b [1]byte
	_, _ = l.conn.Read(b[:])
	gone()
}

func (l *connLine) send(parts net.Buffers, within time.Duration) error {
	if err := l.conn.SetWriteDeadline(time.Now().Add(within)); err != nil {
		return err
	}
	_, err := parts.WriteTo(l.conn)
	return err
}

func (l *connLine) hurry(within time.Duration) { _ = l.conn.SetWriteDeadline(time.Now().Add(within)) } // Fails only on a closed connection.

func (l *connLine) close() { _ = l.conn.Close() } // Everything was sent before.

// responseLine is an answer of HTTP/2, whose connection carries other requests, too. The answer ends when the handler
// returns.
type responseLine struct {
	w  http.ResponseWriter
	rc *http.ResponseController
}

func (l *responseLine) send(parts net.Buffers, within time.Duration) error {
	l.hurry(within)
	if _, err := parts.WriteTo(l.w); err != nil {
		return err
	}
	if err := l.rc.Flush(); err != nil {
		return err
	}
	_ = l.rc.SetWriteDeadline(time.Time{}) // An expired deadline would end the HTTP/2 stream, even while nobody writes.
	return nil
}

func (l *responseLine) hurry(within time.Duration) {
	_ = l.rc.SetWriteDeadline(time.Now().Add(within)) // Only the writer of a test has no deadlines.
}

func (l *responseLine) close() {}
