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

// ErrNotLoopback says that mode none was configured with an address that other machines can reach.
var ErrNotLoopback = errors.New("auth mode none is accepted on a loopback address only")

// ErrForeignHost says that a request names a host that is not a loopback host. A web page can make a browser send such
// a request: its site lets its own name resolve to 127.0.0.1 (DNS rebinding).
var ErrForeignHost = errors.New("the request is addressed to a host that is not a loopback address")

// None is the mode without credentials.
type None struct{}

// everywhere is the list of warehouses of every anonymous identity. It is shared, so nobody may append to it.
var everywhere = []string{AllWarehouses}

// Anonymous is the subject of every caller in mode none.
const Anonymous = "anonymous"

// Authenticate accepts every request to a loopback host. The identity may do everything.
func (None) Authenticate(r *http.Request) (Identity, error) {
	if !isLoopback(hostOnly(r.Host)) {
		return Identity{}, ErrForeignHost
	}
	return Identity{Subject: Anonymous, Access: Roles(), Warehouses: everywhere, Via: ledger.ViaNone}, nil
}

// CheckListen refuses a listen address (host:port) that is not a loopback address. It refuses an empty host, too,
// because that means all addresses.
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

// hostOnly removes the port, and the brackets of an IPv6 address, from a Host header.
func hostOnly(host string) string {
	if h, _, err := net.SplitHostPort(host); err == nil {
		return h
	}
	return strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
}

// isLoopback accepts the name localhost and loopback addresses. It resolves no other name, because the address of a
// name can change between the check and the use.
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

// maxToken is the length of the longest accepted bearer token, in bytes.
const maxToken = 16 << 10

// Bearer is the mode token: every request carries an API token or a JWT.
type Bearer struct {
	Tokens *Tokens
	JWT    *JWT // nil = JWTs are refused.
}

// Authenticate checks the bearer token of the request. The prefix of an API token decides which kind the token is.
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
		return Identity{}, fmt.Errorf("%w: this service accepts no JWTs", ErrBadToken)
	}
	return b.JWT.identify(r.Context(), token)
}

// bearer reads the bearer token from the Authorization headers of a request. It refuses more than one header, because a
// proxy in front could have checked another one.
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

// notInToken tells whether RFC 6750 forbids the character in bearer tokens.
func notInToken(r rune) bool {
	switch {
	case 'a' <= r && r <= 'z', 'A' <= r && r <= 'Z', '0' <= r && r <= '9':
		return false
	}
	return !strings.ContainsRune("-._~+/=", r)
}
