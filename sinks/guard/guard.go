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

type block struct {
	prefix netip.Prefix
	what   string
}

func blocksOf(rows [][2]string) []block {
	blocks := make([]block, len(rows))
	for i, r := range rows {
		blocks[i] = block{netip.MustParsePrefix(r[0]), r[1]}
	}
	return blocks
}

// blocks are what is not of the public internet, or what no receiver of notices stands at although it is. The narrowest that has an address
// names it. They follow, row by row, the IANA IPv4 and IPv6 Special-Purpose Address Registries of 2025-10-09
// (https://www.iana.org/assignments/iana-ipv4-special-registry and iana-ipv6-special-registry).
var blocks = blocksOf([][2]string{
	// Of clouds. Some of them are public addresses.
	{"168.63.129.16/32", "the metadata address of a cloud"},
	{"169.254.169.254/32", "the metadata address of a cloud"},
	{"100.100.100.200/32", "the metadata address of a cloud"},
	{"192.0.0.192/32", "the metadata address of a cloud"},
	{"fd00:ec2::254/128", "the metadata address of a cloud"},
	{"fd20:ce::254/128", "the metadata address of a cloud"},

	// The registry of IPv4.
	{"0.0.0.0/8", "an address of this network"},
	{"0.0.0.0/32", "an address of this host"},
	{"10.0.0.0/8", "a private address"},
	{"100.64.0.0/10", "an address of a carrier's network"},
	{"127.0.0.0/8", "a loopback address"},
	{"169.254.0.0/16", "a link-local address"},
	{"172.16.0.0/12", "a private address"},
	{"192.0.0.0/24", "an address of protocols"},
	{"192.0.0.0/29", "an address of protocols (IPv4 service continuity)"},
	{"192.0.0.8/32", "an address of protocols (dummy)"},
	{"192.0.0.9/32", "an address of protocols (port control)"},
	{"192.0.0.10/32", "an address of protocols (TURN)"},
	{"192.0.0.170/32", "an address of protocols (NAT64 discovery)"},
	{"192.0.0.171/32", "an address of protocols (NAT64 discovery)"},
	{"192.0.2.0/24", "an address of examples"},
	{"192.31.196.0/24", "an address of AS112"},
	{"192.52.193.0/24", "an address of multicast tunnels"},
	{"192.88.99.0/24", "an address of relays"},
	{"192.88.99.2/32", "an address of relays"},
	{"192.168.0.0/16", "a private address"},
	{"192.175.48.0/24", "an address of AS112"},
	{"198.18.0.0/15", "an address of benchmarks"},
	{"198.51.100.0/24", "an address of examples"},
	{"203.0.113.0/24", "an address of examples"},
	{"240.0.0.0/4", "a reserved address"},
	{"255.255.255.255/32", "the broadcast address"},

	// The registry of IPv6, but for the blocks below that stand for addresses of IPv4.
	{"::1/128", "a loopback address"},
	{"::/128", "an address of this host"},
	{"64:ff9b:1::/48", "an address of a translator"}, // NAT64 within a network: how it embeds which address, only the network knows
	{"100::/64", "an address to discard"},
	{"100:0:0:1::/64", "an address of protocols (dummy)"},
	{"2001::/23", "an address of protocols"},
	{"2001::/32", "an address of Teredo"}, // leads through a relay to an address of IPv4 behind a NAT
	{"2001:1::1/128", "an address of protocols (port control)"},
	{"2001:1::2/128", "an address of protocols (TURN)"},
	{"2001:1::3/128", "an address of protocols (service registration)"},
	{"2001:2::/48", "an address of benchmarks"},
	{"2001:3::/32", "an address of multicast tunnels"},
	{"2001:4:112::/48", "an address of AS112"},
	{"2001:10::/28", "an address of ORCHID"},
	{"2001:20::/28", "an address of ORCHID"},
	{"2001:30::/28", "an address of drones"},
	{"2001:db8::/32", "an address of examples"},
	{"2620:4f:8000::/48", "an address of AS112"},
	{"3fff::/20", "an address of examples"},
	{"5f00::/16", "an address of segment routing"},
	{"fc00::/7", "a private address"},
	{"fe80::/10", "a link-local address"},

	// Not in these registries: multicast has its own, site-local addresses have been taken back.
	{"224.0.0.0/4", "a multicast address"},
	{"ff00::/8", "a multicast address"},
	{"fec0::/10", "a private address"},
})

// global is all that IPv6 has given out to the public internet so far.
var global = netip.MustParsePrefix("2000::/3")

// embedded are the IPv6 blocks whose addresses lead to one of IPv4, and where it stands in them. Such an address is what that one is. The first
// three are rows of the registry.
var embedded = []struct {
	prefix netip.Prefix
	of     func(b [16]byte) netip.Addr
}{
	{netip.MustParsePrefix("::ffff:0:0/96"), lastFour},   // IPv4-mapped; Unmap has seen to it, too
	{netip.MustParsePrefix("64:ff9b::/96"), lastFour},    // NAT64
	{netip.MustParsePrefix("2002::/16"), afterTheFirst},  // 6to4
	{netip.MustParsePrefix("::/96"), lastFour},           // "IPv4-compatible"
	{netip.MustParsePrefix("::ffff:0:0:0/96"), lastFour}, // "IPv4-translatable"
}

func lastFour(b [16]byte) netip.Addr      { return netip.AddrFrom4([4]byte(b[12:])) }
func afterTheFirst(b [16]byte) netip.Addr { return netip.AddrFrom4([4]byte(b[2:6])) }

// isatap is the address of IPv4 to which an address of ISATAP leads (RFC 5214): in whatever prefix, its interface is 0000:5efe or 0200:5efe and
// that address.
func isatap(b [16]byte) (to netip.Addr, ok bool) {
	const universalAndGroup = 0x03
	return lastFour(b), b[8]&^universalAndGroup == 0 && b[9] == 0 && b[10] == 0x5e && b[11] == 0xfe
}
