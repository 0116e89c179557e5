package chat

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

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
