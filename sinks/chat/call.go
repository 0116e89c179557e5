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

// The limits of a call. The caller sets its timeout.
const (
	dialFor     = 30 * time.Second
	idleFor     = 60 * time.Second
	idlePerHost = 8
	readBytes   = 64 << 10
	readFor     = 2 * time.Second
	headerBytes = 64 << 10
)

// newTransport returns the transport of the calls. The transport follows no redirect, and uses no proxy, because the
// guard would check the address of the proxy instead of the server's.
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

// answer is the answer of a service.
type answer struct {
	status int
	header http.Header
	body   []byte
	err    error // why there is no answer
}

// call makes the call and reads the answer. The end of the context ends both.
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
	if u := req.URL.User; u != nil { // http.Client would set it, but is not used
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
	// The body may be incomplete. For a service that tells errors in the body, an incomplete body counts as an error.
	body, _ := io.ReadAll(io.LimitReader(resp.Body, readBytes))
	return answer{status: resp.StatusCode, header: resp.Header, body: body}
}

// because adds the reason why the context ended to an error.
func because(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return fmt.Errorf("%w: %w", context.Cause(ctx), err)
	}
	return err
}

// secretsOf returns the parts of a chat's URL, and of the call for it, that no error may show. A word in the path that
// belongs to the service is not a secret.
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
	if u.Hostname() != to.Hostname() { // the host of the chat's URL is a token here, such as the key of WeCom
		out = append(out, u.Host)
	}
	for name, value := range p.header {
		if name != "Content-Type" && name != "Idempotency-Key" && name != "Title" && !isWord(value) {
			out = append(out, value)
		}
	}
	return out
}

// isWord tells whether a part of a URL is a short word in small letters. Such a word is a path of the service, not a
// token.
func isWord(s string) bool {
	return len(s) <= 12 && strings.Trim(s, "abcdefghijklmnopqrstuvwxyz-") == ""
}

const (
	maxTold  = 200 // how many bytes of an answer an error shows
	maxError = 600
	maxLater = time.Hour
)

// noticeError means that the service will never take this message, however the chat is set up.
type noticeError struct{ err error }

func (e *noticeError) Error() string { return e.err.Error() }
func (e *noticeError) Unwrap() error { return e.err }

// laterError means that the service asks for a pause.
type laterError struct {
	after time.Duration // 0 = the service does not say how long
	err   error
}

func (e *laterError) Error() string { return e.err.Error() }
func (e *laterError) Unwrap() error { return e.err }

// judge separates faults of the notice, which refuse the delivery, from faults of the chat.
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

// status judges an answer by its status. 400, 413, 415 and 422 are about the message, unless ofChat says that the
// answer is about the chat. 429 and 503 may ask for a pause. All others are about the endpoint, such as a wrong token
// or a deleted chat. A person has to repair the cause, and after that every message must arrive.
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

// clean makes an error fit for the log and the ledger. clean drops the cause, because its text is not scrubbed.
func (c *Channel) clean(err error) error {
	return errors.New("chat: " + c.scrubber.Text(c.kind+": "+err.Error(), maxError))
}

// after returns the pause that the service asks for. The pause is in the header Retry-After, as a number of seconds or a
// date, or in the JSON of the answer.
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
	case !(s > 0): // also for NaN
		return 0
	case s > maxLater.Seconds():
		return maxLater
	default:
		return time.Duration(s * float64(time.Second))
	}
}
