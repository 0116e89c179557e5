package chat

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"tallyman/internal/delivery"
	"tallyman/sinks"
	"tallyman/sinks/guard"
)

// The bounds of a call; its timeout is its caller's.
const (
	dialFor     = 30 * time.Second
	idleFor     = 60 * time.Second
	idlePerHost = 8
	readBytes   = 64 << 10
	readFor     = 2 * time.Second
	headerBytes = 64 << 10
)

// newTransport follows nothing and asks no proxy, which would connect where the guard does not look.
func newTransport(allowPrivate bool) *http.Transport {
	d := &net.Dialer{Timeout: dialFor, KeepAlive: 30 * time.Second, Control: guard.Control}
	if allowPrivate {
		d.Control = nil
	}
	return &http.Transport{
		DialContext: d.DialContext, TLSClientConfig: &tls.Config{MinVersion: tls.VersionTLS12}, TLSHandshakeTimeout: dialFor,
		ForceAttemptHTTP2: true, MaxIdleConnsPerHost: idlePerHost, IdleConnTimeout: idleFor, MaxResponseHeaderBytes: headerBytes,
	}
}

// answer is what the other side has said.
type answer struct {
	status int
	header http.Header
	body   []byte
	err    error // it said nothing
}

// call makes the call and reads the answer. The context ends both.
func (c *Channel) call(ctx context.Context, p *post) answer {
	ctx, end := context.WithCancel(ctx)
	defer end()
	method := p.method
	if method == "" {
		method = http.MethodPost
	}
	req, err := http.NewRequestWithContext(ctx, method, p.url, bytes.NewReader(p.body))
	if err != nil {
		return answer{err: errors.New("the url cannot be called")}
	}
	if u := req.URL.User; u != nil { // the client that would do so is not used
		password, _ := u.Password()
		req.SetBasicAuth(u.Username(), password)
	}
	for name, value := range p.header {
		req.Header.Set(name, value)
	}
	req.Header.Set("User-Agent", "tallyman/"+c.version)
	resp, err := c.transport.RoundTrip(req)
	if err != nil {
		return answer{err: because(ctx, err)}
	}
	defer resp.Body.Close()
	sinks.NoteStatus(ctx, resp.StatusCode)
	slow := time.AfterFunc(readFor, end)
	defer slow.Stop()
	body, _ := io.ReadAll(io.LimitReader(resp.Body, readBytes)) // as much of it as came: who has said 200 has taken it
	return answer{status: resp.StatusCode, header: resp.Header, body: body}
}

// because tells that the context's end is behind an error.
func because(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return fmt.Errorf("%w: %w", context.Cause(ctx), err)
	}
	return err
}

// secretsOf are the texts of a URL, and of the call that it leads to, that no error may show. Words of a path that are
// the service's own are none.
func secretsOf(u, to *url.URL, p *post) []string {
	out := []string{u.String(), to.String()}
	for _, u := range []*url.URL{u, to} {
		if u.User != nil {
			password, _ := u.User.Password()
			out = append(out, u.User.Username(), password, u.User.Username()+":"+password)
		}
		for part := range strings.SplitSeq(u.Path, "/") {
			if !isWord(part) {
				out = append(out, part, strings.TrimPrefix(part, "bot"))
			}
		}
		for _, values := range u.Query() {
			for _, value := range values {
				if !isWord(value) {
					out = append(out, value)
				}
			}
		}
	}
	if u.Hostname() != to.Hostname() { // a part of the address, such as the key of WeCom
		out = append(out, u.Host)
	}
	for name, value := range p.header {
		if name != "Content-Type" && name != "Idempotency-Key" && name != "Title" && !isWord(value) {
			out = append(out, value)
		}
	}
	return out
}

// isWord tells whether a part of a URL is a short word in small letters: a path of the service, not a token.
func isWord(s string) bool {
	return len(s) <= 12 && strings.Trim(s, "abcdefghijklmnopqrstuvwxyz-") == ""
}

const (
	maxTold  = 200 // bytes of an answer that an error shows
	maxError = 600
	maxLater = time.Hour
)

// noticeError says that the service will never take this message, whatever becomes of the chat.
type noticeError struct{ err error }

func (e *noticeError) Error() string { return e.err.Error() }
func (e *noticeError) Unwrap() error { return e.err }

// laterError says that the service asks to be left alone.
type laterError struct {
	after time.Duration // 0 = it does not say for how long
	err   error
}

func (e *laterError) Error() string { return e.err.Error() }
func (e *laterError) Unwrap() error { return e.err }

// judge tells what is wrong with the notice from what is wrong with the chat.
func (c *Channel) judge(d *delivery.Delivery, a answer) error {
	err := a.err
	if err == nil {
		err = c.status(a)
	}
	if err == nil {
		return nil
	}
	told := c.clean(err)
	if _, ok := errors.AsType[*noticeError](err); ok {
		return sinks.Refuse(d, told)
	}
	if later, ok := errors.AsType[*laterError](err); ok && later.after > 0 {
		return &sinks.LaterError{After: min(later.after, maxLater), Err: told}
	}
	return told
}

// status judges an answer. 400, 413, 415 and 422 are about what was sent, all others about the endpoint: a wrong token, a chat that is gone, an
// overload. A person mends those, and then everything must arrive.
func (c *Channel) status(a answer) error {
	if a.status/100 == 2 {
		return c.service.read(a.body)
	}
	said := fmt.Errorf("%d %s%s", a.status, http.StatusText(a.status), c.quote(a.body))
	switch a.status {
	case http.StatusBadRequest, http.StatusRequestEntityTooLarge, http.StatusUnsupportedMediaType, http.StatusUnprocessableEntity:
		if s, ok := c.service.(interface{ ofChat(body []byte) bool }); ok && s.ofChat(a.body) {
			return said
		}
		return &noticeError{said}
	case http.StatusTooManyRequests, http.StatusServiceUnavailable:
		return &laterError{after: c.after(a), err: said}
	default:
		return said
	}
}

func (c *Channel) quote(body []byte) string {
	shown := c.scrubber.Text
	if len(body) == readBytes {
		shown = c.scrubber.Cut
	}
	if told := shown(string(body), maxTold); told != "" {
		return ": " + told
	}
	return ""
}

// clean makes an error fit for log and ledger. It keeps no cause, whose text would be the one that was cleaned.
func (c *Channel) clean(err error) error {
	return errors.New("chat: " + c.scrubber.Text(c.kind+": "+err.Error(), maxError))
}

// after is for how long the service asks to be left alone: by the header, so many seconds or until a date, or in its JSON.
func (c *Channel) after(a answer) time.Duration {
	text := strings.TrimSpace(a.header.Get("Retry-After"))
	if seconds, err := strconv.ParseFloat(text, 64); err == nil {
		return inSeconds(seconds)
	}
	if until, err := http.ParseTime(text); err == nil {
		return max(0, until.Sub(c.now()))
	}
	var told struct {
		RetryAfter float64 `json:"retry_after"` // Discord
		Parameters struct {
			RetryAfter float64 `json:"retry_after"` // Telegram
		} `json:"parameters"`
	}
	if json.Unmarshal(a.body, &told) != nil {
		return 0
	}
	return inSeconds(max(told.RetryAfter, told.Parameters.RetryAfter))
}

func inSeconds(s float64) time.Duration {
	switch {
	case !(s > 0): // nor is NaN
		return 0
	case s > maxLater.Seconds():
		return maxLater
	default:
		return time.Duration(s * float64(time.Second))
	}
}
