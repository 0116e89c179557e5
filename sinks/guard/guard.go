package guard

import (
	"errors"
	"fmt"
	"net/netip"
	"syscall"
)

// ErrRefused says that an address is not of the public internet.
var ErrRefused = errors.New("not an address of the public internet")

// Control is for net.Dialer: it refuses every connection to an address that Check refuses.
func Control(_, address string, _ syscall.RawConn) error {
	to, err := netip.ParseAddrPort(address)
	if err != nil {
		return fmt.Errorf("%w: %q", ErrRefused, address)
	}
	return Check(to.Addr())
}

// Check returns an ErrRefused that says what kind of address it is, unless it is one of the public internet.
func Check(a netip.Addr) error {
	if what := kind(a); what != "" {
		return fmt.Errorf("%s is %s: %w", a, what, ErrRefused)
	}
	return nil
}

// kind names what keeps an address out of the public internet; "" of a public one. An IPv6 address that stands for one of IPv4 is
// what that one is.
func kind(a netip.Addr) string {
	if !a.IsValid() {
		return "no address"
	}
	if a.Zone() != "" {
		return "a link-local address"
	}
	a = a.Unmap()
	narrowest, what := -1, ""
	for _, b := range blocks {
		if b.prefix.Bits() > narrowest && b.prefix.Contains(a) {
			narrowest, what = b.prefix.Bits(), b.what
		}
	}
	if what != "" || a.Is4() {
		return what
	}
	for _, e := range embedded {
		if e.prefix.Contains(a) {
			return kind(e.of(a.As16()))
		}
	}
	if !global.Contains(a) {
		return "a reserved address"
	}
	if to, ok := isatap(a.As16()); ok {
		return kind(to)
	}
	return ""
}
