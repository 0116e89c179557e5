package guard

import "net/netip"

type block struct {
	prefix netip.Prefix
	what   string
}

// blocks are what IANA keeps out of the public internet, and the metadata address of a cloud that lies inside it. The first
// that has an address names it.
var blocks = []block{
	{netip.MustParsePrefix("168.63.129.16/32"), "the metadata address of a cloud"},
	{netip.MustParsePrefix("169.254.169.254/32"), "the metadata address of a cloud"},
	{netip.MustParsePrefix("100.100.100.200/32"), "the metadata address of a cloud"},
	{netip.MustParsePrefix("192.0.0.192/32"), "the metadata address of a cloud"},
	{netip.MustParsePrefix("fd00:ec2::254/128"), "the metadata address of a cloud"},
	{netip.MustParsePrefix("fd20:ce::254/128"), "the metadata address of a cloud"},

	{netip.MustParsePrefix("0.0.0.0/8"), "an address of this host"},
	{netip.MustParsePrefix("127.0.0.0/8"), "a loopback address"},
	{netip.MustParsePrefix("10.0.0.0/8"), "a private address"},
	{netip.MustParsePrefix("172.16.0.0/12"), "a private address"},
	{netip.MustParsePrefix("192.168.0.0/16"), "a private address"},
	{netip.MustParsePrefix("100.64.0.0/10"), "an address of a carrier's network"},
	{netip.MustParsePrefix("169.254.0.0/16"), "a link-local address"},
	{netip.MustParsePrefix("192.0.0.0/24"), "a reserved address"},
	{netip.MustParsePrefix("192.0.2.0/24"), "an address of examples"},
	{netip.MustParsePrefix("192.88.99.0/24"), "an address of relays"},
	{netip.MustParsePrefix("198.18.0.0/15"), "an address of benchmarks"},
	{netip.MustParsePrefix("198.51.100.0/24"), "an address of examples"},
	{netip.MustParsePrefix("203.0.113.0/24"), "an address of examples"},
	{netip.MustParsePrefix("224.0.0.0/4"), "a multicast address"},
	{netip.MustParsePrefix("240.0.0.0/4"), "a reserved address"},

	{netip.MustParsePrefix("::/128"), "an address of this host"},
	{netip.MustParsePrefix("::1/128"), "a loopback address"},
	{netip.MustParsePrefix("fc00::/7"), "a private address"},
	{netip.MustParsePrefix("fe80::/10"), "a link-local address"},
	{netip.MustParsePrefix("fec0::/10"), "a private address"},
	{netip.MustParsePrefix("ff00::/8"), "a multicast address"},
	{netip.MustParsePrefix("64:ff9b:1::/48"), "an address of a translator"},
	{netip.MustParsePrefix("2001::/23"), "a reserved address"}, // Teredo and others that lead somewhere else
	{netip.MustParsePrefix("2001:db8::/32"), "an address of examples"},
	{netip.MustParsePrefix("3fff::/20"), "an address of examples"},
}

// global is all that IPv6 has given out to the public internet so far.
var global = netip.MustParsePrefix("2000::/3")

// embedded are the IPv6 blocks whose addresses lead to one of IPv4, and where it stands in them.
var embedded = []struct {
	prefix netip.Prefix
	of     func(b [16]byte) netip.Addr
}{
	{netip.MustParsePrefix("64:ff9b::/96"), lastFour}, // NAT64
	{netip.MustParsePrefix("::/96"), lastFour},        // "IPv4-compatible"
	{netip.MustParsePrefix("::ffff:0:0:0/96"), lastFour},
	{netip.MustParsePrefix("2002::/16"), func(b [16]byte) netip.Addr { return netip.AddrFrom4([4]byte(b[2:6])) }}, // 6to4
}

func lastFour(b [16]byte) netip.Addr { return netip.AddrFrom4([4]byte(b[12:])) }
