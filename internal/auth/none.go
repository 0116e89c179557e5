package auth

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"strings"

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
