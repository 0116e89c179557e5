package webhook

import (
	"context"
	"errors"
	"io"
	"math"
	"net/http"
	"strconv"
	"time"
)

// smallBody is how long a body may be that goes out in one piece, whether the server listens or not. With longer ones net/http's client
// listens while it speaks.
const smallBody = 16 << 10

var errLongHead = errors.New("the head of its answer is too long")

// said is what came of a call on a line.
type said struct {
	resp  *http.Response
	text  []byte // of it, as much as came
	far   far    // the call has come
	whole bool   // the line can have another call
	err   error
}

// speak makes a call on a line. One that has waited may have been closed by the server at just this moment: where nothing of an answer
// has come, the call is made once more, on a new line. Should the server have taken it all the same, it knows the Idempotency-Key.
func (w *Webhook) speak(ctx context.Context, m message) (answer, error) {
	c := w.lines.take()
	for waited := c != nil; ; waited = false {
		if !waited {
			var err error
			if c, err = w.lines.connect(ctx); err != nil {
				return answer{}, w.broken(ctx, unconnected, err)
			}
		}
		c.out = w.write(ctx, c.out[:0], m)
		s := w.lines.call(ctx, c)
		switch {
		case s.err == nil:
			return w.understand(s.resp, s.text), nil
		case !waited || s.far == heard || ctx.Err() != nil:
			return answer{}, w.broken(ctx, s.far, s.err)
		}
	}
}

// write appends the request.
func (w *Webhook) write(ctx context.Context, out []byte, m message) []byte {
	line := func(name, value string) {
		out = append(append(append(append(out, name...), ": "...), value...), "\r\n"...)
	}
	out = append(out, w.lines.head...)
	w.mark(ctx, m, line)
	line("Content-Length", strconv.Itoa(len(m.body)))
	return append(append(out, "\r\n"...), m.body...)
}

// call makes the call that is written on the line, which then waits for the next one, or is closed.
func (l *lines) call(ctx context.Context, c *line) said {
	stop := context.AfterFunc(ctx, c.cut)
	s := c.call(ctx)
	if stop() && s.whole {
		l.keep(c)
	} else {
		_ = c.Close()
	}
	return s
}

// cut ends whatever the line waits for.
func (c *line) cut() { _ = c.SetDeadline(time.Unix(1, 0)) }

func (c *line) call(ctx context.Context) (s said) {
	s.far = connected
	if _, s.err = c.Write(c.out); s.err != nil {
		return s
	}
	s.far, c.bound.N = written, headerBytes
	if _, s.err = c.in.Peek(1); s.err != nil {
		return s
	}
	s.far = heard
	if s.resp, s.err = c.head(); s.err != nil { //nolint:bodyclose // see text
		return s
	}
	if s.whole = true; s.resp.Body != http.NoBody {
		s.text, s.whole = c.text(ctx, s.resp)
	}
	s.whole = s.whole && !s.resp.Close && c.in.Buffered() == 0
	return s
}

// head reads the answer up to its text. Other answers may come before it that say that it will come.
func (c *line) head() (*http.Response, error) {
	for {
		resp, err := http.ReadResponse(c.in, nil)
		switch {
		case err != nil && c.bound.N <= 0:
			return nil, errLongHead
		case err != nil:
			return nil, err
		case resp.StatusCode == http.StatusSwitchingProtocols: // nobody asked for that
			resp.Close = true
			return resp, nil
		case resp.StatusCode/100 != 1:
			return resp, nil
		}
	}
}

// text reads the answer's text, and tells whether that is all of it. It is not closed, since that would read on.
func (c *line) text(ctx context.Context, resp *http.Response) (text []byte, whole bool) {
	c.bound.N = math.MaxInt64
	if n := resp.ContentLength; n < 0 || n > int64(c.in.Buffered()) {
		_ = c.SetReadDeadline(time.Now().Add(readFor))
		if ctx.Err() != nil { // and cut may have come before
			c.cut()
		}
		defer func() { _ = c.SetReadDeadline(time.Time{}) }() // where the context has ended, the line is closed
	}
	text, err := io.ReadAll(io.LimitReader(resp.Body, readBytes))
	return text, err == nil && len(text) < readBytes
}
