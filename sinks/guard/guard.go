package guard

import (
	"errors"
	"fmt"
	"net/netip"
	"syscall"
)

// ErrRefused means that an address is not an address of the public internet.
var ErrRefused = errors.New("not an address of the public internet")

// Control is for net.Dialer. Control refuses every connection to an address that Check refuses.
func Control(_, address string, _ syscall.RawConn) error {
	to, err := netip.ParseAddrPort(address)
	if err != nil {
		return fmt.Errorf("%w: %q", ErrRefused, address)
	}
	return Check(to.Addr())
}

// Check returns nil for an address of the public internet, and otherwise an ErrRefused that says what kind of address
// it is.
func Check(a netip.Addr) error {
	if what := kind(a); what != "" {
		return fmt.Errorf("%s is %s: %w", a, what, ErrRefused)
	}
	return nil
}

// kind says why an address is not public, and returns "" for a public one. An IPv6 address that stands for an IPv4
// address has the kind of that IPv4 address.
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

// blocks lists the networks that no call may reach: networks that are not public, and public networks where no receiver
// of notices can be. The narrowest block that contains an address names its kind. The rows follow the IANA IPv4 and
// IPv6 Special-Purpose Address Registries of 2025-10-09
// (https://www.iana.org/assignments/iana-ipv4-special-registry and iana-ipv6-special-registry).
var blocks = blocksOf([][2]string{
	// Metadata addresses of clouds. Some of them are public addresses.
	{"168.63.129.16/32", "the metadata address of a cloud"},
	{"169.254.169.254/32", "the metadata address of a cloud"},
	{"100.100.100.200/32", "the metadata address of a cloud"},
	{"192.0.0.192/32", "the metadata address of a cloud"},
	{"fd00:ec2::254/128", "the metadata address of a cloud"},
	{"fd20:ce::254/128", "the metadata address of a cloud"},

	// The rows of the IPv4 registry.
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

	// The rows of the IPv6 registry, without the blocks that stand for IPv4 addresses: embedded below has these blocks.
	{"::1/128", "a loopback address"},
	{"::/128", "an address of this host"},
	// NAT64 within a network: only that network knows which IPv4 address it embeds, and how
	{"64:ff9b:1::/48", "an address of a translator"},
	{"100::/64", "an address to discard"},
	{"100:0:0:1::/64", "an address of protocols (dummy)"},
	{"2001::/23", "an address of protocols"},
	{"2001::/32", "an address of Teredo"}, // leads through a relay to an IPv4 address behind a NAT
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

	// Blocks that are not in these registries. Multicast has a registry of its own; site-local addresses are deprecated.
	{"224.0.0.0/4", "a multicast address"},
	{"ff00::/8", "a multicast address"},
	{"fec0::/10", "a private address"},
})

// global is the part of IPv6 that has been assigned to the public internet so far.
var global = netip.MustParsePrefix("2000::/3")

// embedded lists the IPv6 blocks whose addresses lead to an IPv4 address, and where that address stands in them. Such
// an address is judged by its IPv4 address. The first three blocks are rows of the registry.
var embedded = []struct {
	prefix netip.Prefix
	of     func(b [16]byte) netip.Addr
}{
	{netip.MustParsePrefix("::ffff:0:0/96"), lastFour},   // IPv4-mapped; Unmap handles these, too
	{netip.MustParsePrefix("64:ff9b::/96"), lastFour},    // NAT64
	{netip.MustParsePrefix("2002::/16"), afterTheFirst},  // 6to4
	{netip.MustParsePrefix("::/96"), lastFour},           // "IPv4-compatible"
	{netip.MustParsePrefix("::ffff:0:0:0/96"), lastFour}, // "IPv4-translatable"
}

func lastFour(b [16]byte) netip.Addr      { return netip.AddrFrom4([4]byte(b[12:])) }
func afterTheFirst(b [16]byte) netip.Addr { return netip.AddrFrom4([4]byte(b[2:6])) }

// isatap returns the IPv4 address that an ISATAP address leads to (RFC 5214). Under any prefix, its interface part is
// 0000:5efe or 0200:5efe, followed by the IPv4 address.
func isatap(b [16]byte) (to netip.Addr, ok bool) {
	const universalAndGroup = 0x03
	return lastFour(b), b[8]&^universalAndGroup == 0 && b[9] == 0 && b[10] == 0x5e && b[11] == 0xfe
}
