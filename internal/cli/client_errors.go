package cli

import (
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strings"
	"syscall"

	"tallyman/internal/wire"
)

// unanswered is the error of a request that got no answer, with what to do about it.
func (c *client) unanswered(err error) error {
	if wrapped, ok := errors.AsType[*url.Error](err); ok { // its text repeats the whole URL
		err = wrapped.Err
	}
	next := "is it the address of a Tallyman server (--server or TALLYMAN_SERVER)?"
	var stranger x509.UnknownAuthorityError
	var name x509.HostnameError
	switch {
	case errors.Is(err, syscall.ECONNREFUSED):
		next = "is tallyman serve running there?"
	case errors.As(err, &stranger):
		next = "name the file of the authority that has signed its certificate with --ca-file"
	case errors.As(err, &name):
		next = "use a name that its certificate bears"
	case strings.Contains(err.Error(), "HTTP response to HTTPS client"):
		next = "it speaks plain HTTP: write http:// before its address"
	case os.IsTimeout(err):
		next = "it may be busy, or something between here and there swallows requests"
	}
	return unreachable(fmt.Errorf("no answer from %s: %w; %s", c.base, err, next))
}

// strange is the error of an answer that Tallyman would not give.
func (c *client) strange(err error) error {
	return unreachable(fmt.Errorf("%s does not answer as Tallyman does: %w; is it another server's address?", c.base, err))
}

// foreign is the error of an answer that is no problem of Tallyman's.
func (c *client) foreign(res *http.Response, body []byte) error {
	what := fmt.Sprintf("%s answers %d %s", c.base, res.StatusCode, http.StatusText(res.StatusCode))
	next := "which is not Tallyman's: is it another server's address, or a proxy's that has its own idea?"
	switch {
	case res.Header.Get("Location") != "":
		next = "and leads to " + res.Header.Get("Location") + ": give that server's address, if it is Tallyman's"
	case strings.Contains(string(body), "HTTPS server"):
		next = "because it speaks TLS: write https:// before its address"
	case isPage(res):
		next = "with a web page, which is not Tallyman's: is it another server's address, or a proxy's that wants a login?"
	}
	return unreachable(fmt.Errorf("%s, %s", what, next))
}

// isPage tells whether an answer is for people.
func isPage(res *http.Response) bool {
	return strings.HasPrefix(res.Header.Get("Content-Type"), "text/html")
}

// whatNext says what the caller can do about a problem; "" where the problem says it.
var whatNext = map[wire.Code]string{
	wire.CodeMissingParameter: "the flag of that name says it",
	wire.CodeTokenMissing:     "name its file with --token-file, or set TALLYMAN_TOKEN",
	wire.CodeTokenInvalid:     "is it another server's token? `tallyman tokens list` shows those that there are",
	wire.CodeTokenExpired:     "`tallyman tokens create` makes another one",
	wire.CodeTokenRevoked:     "`tallyman tokens create` makes another one",
	wire.CodeRoleMissing:      "call with the token of somebody who may (--token-file)",
	wire.CodeNotFound:         "the server may be older than this program: `tallyman version` and `tallyman status` tell",
	wire.CodeBadHost:          "call it by localhost or 127.0.0.1, on the machine where it runs",
}

// refused makes the server's problem an error: its own words where it is one of Tallyman's.
func (c *client) refused(res *http.Response, body []byte) error {
	var p wire.Problem
	if json.Unmarshal(body, &p) != nil || p.Code == "" {
		return c.foreign(res, body)
	}
	err := fmt.Errorf("%s: %s", p.Code, p.Detail)
	for _, f := range p.Errors[min(1, len(p.Errors)):] { // the detail is the first
		err = fmt.Errorf("%w\n  %s: %s", err, f.Location, f.Message)
	}
	if next := whatNext[p.Code]; next != "" {
		err = fmt.Errorf("%w; %s", err, next)
	}
	if res.StatusCode >= http.StatusInternalServerError || res.StatusCode == http.StatusTooManyRequests {
		return unreachable(err)
	}
	return &refusedError{p.Code, err}
}

// refusedError is a problem that the server found with a request.
type refusedError struct {
	code wire.Code
	err  error
}

func (r *refusedError) Error() string { return r.err.Error() }

func (r *refusedError) Unwrap() error { return r.err }

// hasCode tells whether the server refused a request for that reason.
func hasCode(err error, code wire.Code) bool {
	r, ok := errors.AsType[*refusedError](err)
	return ok && r.code == code
}
