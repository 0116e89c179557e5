package stream

import (
	"bytes"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"time"
)

// line is the way to a stream's client. One goroutine sends at a time.
type line interface {
	// send fails where the client has not taken all of it when its time is over.
	send(parts net.Buffers, within time.Duration) error
	// hurry shortens the time of who sends just now.
	hurry(within time.Duration)
	close()
}

// openLine sends the head of the answer. A connection of HTTP/1 is taken over: what the server keeps for one, its buffers and the
// stack of its goroutine, is many times what an idle stream needs. Otherwise hold is true and the handler must not return
// before the stream is done. gone is called when the client leaves.
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

// connLine is a connection of HTTP/1 that was taken over. The answer ends with it.
type connLine struct{ conn net.Conn }

// sendBuffer bounds what the kernel keeps for a client that does not read.
const sendBuffer = 64 << 10

func newConnLine(conn net.Conn, h http.Header, gone func()) (*connLine, error) {
	raw := conn
	if secure, ok := conn.(*tls.Conn); ok {
		raw = secure.NetConn()
	}
	if tcp, ok := raw.(*net.TCPConn); ok {
		_ = tcp.SetWriteBuffer(sendBuffer) // where it cannot be set it is larger
	}
	if err := conn.SetDeadline(time.Time{}); err != nil { // of the server's timeouts
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

// watch returns when the client hangs up, or says something, which has no place on a stream.
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

func (l *connLine) hurry(within time.Duration) { _ = l.conn.SetWriteDeadline(time.Now().Add(within)) } // or it is closed already

func (l *connLine) close() { _ = l.conn.Close() } // the client has what it will get

// responseLine is an answer of HTTP/2, whose connection carries others too. The handler ends it by returning.
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
	_ = l.rc.SetWriteDeadline(time.Time{}) // one that passes ends a stream of HTTP/2, also while nobody writes
	return nil
}

func (l *responseLine) hurry(within time.Duration) {
	_ = l.rc.SetWriteDeadline(time.Now().Add(within)) // a writer that knows none is a test's
}

func (l *responseLine) close() {}
