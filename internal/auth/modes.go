package auth

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"time"

	"tallyman/internal/ledger"
)

// ErrNotLoopback says that mode none was asked to listen where others can reach it.
var ErrNotLoopback = errors.New("auth mode none is accepted on a loopback address only")

// ErrForeignHost says that a request names a host that is not this machine's loopback address. A page of another
// site can make a browser send such a request by pointing its own name at 127.0.0.1.
var ErrForeignHost = errors.New("the request is addressed to a host that is not a loopback address")

// None is the mode without credentials.
type None struct{}

// everywhere is shared; nobody appends to it.
var everywhere = []string{AllWarehouses}

// Anonymous is the subject of everyone in mode none.
const Anonymous = "anonymous"

// Authenticate takes every request that was addressed to a loopback host. Its identity may do everything.
func (None) Authenticate(r *http.Request) (Identity, error) {
	if !isLoopback(hostOnly(r.Host)) {
		return Identity{}, ErrForeignHost
	}
	return Identity{Subject: Anonymous, Access: Roles(), Warehouses: everywhere, Via: ledger.ViaNone}, nil
}

// CheckListen refuses a listen address (host:port) that is not a loopback address. The empty host is every
// address, so it is refused too.
func CheckListen(addr string) error {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return fmt.Errorf("listen address %q: %w", addr, err)
	}
	if !isLoopback(host) {
		return fmt.Errorf("listen address %q: %w", addr, ErrNotLoopback)
	}
	return nil
}

// hostOnly cuts the port and the brackets of an IPv6 address off a Host header.
func hostOnly(host string) string {
	if h, _, err := net.SplitHostPort(host); err == nil {
		return h
	}
	return strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
}

// isLoopback knows the name localhost and the addresses. Other names are not looked up: what they resolve to
// can change between the check and the use.
func isLoopback(host string) bool {
	switch host {
	case "127.0.0.1", "localhost": // nearly all requests
		return true
	}
	if strings.EqualFold(strings.TrimSuffix(host, "."), "localhost") {
		return true
	}
	addr, err := netip.ParseAddr(host)
	return err == nil && addr.Unmap().IsLoopback()
}

// maxToken is the longest bearer token that is looked at, in bytes.
const maxToken = 16 << 10

// Bearer is the mode token: every request carries an API token or a JWT.
type Bearer struct {
	Tokens *Tokens
	JWT    *JWT // nil = JWTs are not taken
}

// Authenticate takes the request's bearer token apart.
func (b *Bearer) Authenticate(r *http.Request) (Identity, error) {
	token, err := bearer(r.Header["Authorization"])
	switch {
	case err != nil:
		return Identity{}, err
	case strings.HasPrefix(token, SecretPrefix):
		return b.Tokens.identify(token, time.Now())
	case strings.Count(token, ".") != 2:
		return Identity{}, fmt.Errorf("%w: it is neither an API token nor a JWT", ErrBadToken)
	case b.JWT == nil:
		return Identity{}, fmt.Errorf("%w: no JWTs are taken here", ErrBadToken)
	}
	return b.JWT.identify(r.Context(), token)
}

// bearer reads the Authorization headers of a request.
func bearer(headers []string) (string, error) {
	switch {
	case len(headers) == 0 || headers[0] == "" && len(headers) == 1:
		return "", ErrNoToken
	case len(headers) > 1:
		return "", fmt.Errorf("%w: there is more than one Authorization header", ErrBadToken)
	}
	scheme, token, _ := strings.Cut(headers[0], " ")
	token = strings.Trim(token, " ")
	switch {
	case !strings.EqualFold(scheme, "Bearer"):
		return "", fmt.Errorf("%w: the Authorization header is not of the form Bearer <token>", ErrNoToken)
	case token == "" || strings.ContainsFunc(token, notInToken):
		return "", fmt.Errorf("%w: the Authorization header is not of the form Bearer <token>", ErrBadToken)
	case len(token) > maxToken:
		return "", fmt.Errorf("%w: it is too long", ErrBadToken)
	}
	return token, nil
}

// notInToken knows what RFC 6750 leaves out of bearer tokens.
func notInToken(r rune) bool {
	switch {
	case 'a' <= r && r <= 'z', 'A' <= r && r <= 'Z', '0' <= r && r <= '9':
		return false
	}
	return !strings.ContainsRune("-._~+/=", r)
}
