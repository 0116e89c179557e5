package guard_test

import (
	"bytes"
	"errors"
	"net/netip"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"tallyman/internal/testenv"
	"tallyman/sinks/guard"
)

func TestMain(m *testing.M) { testenv.Main(m) }

func TestCheck(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]string{
		"93.184.216.34": "", "8.8.8.8": "", "1.1.1.1": "", "172.15.255.255": "", "172.32.0.0": "", "100.63.255.255": "", "100.128.0.0": "",
		"192.0.1.1": "", "223.255.255.255": "", "2606:2800:220:1:248:1893:25c8:1946": "", "2a00:1450::1": "",
		"64:ff9b::808:808": "", "2002:808:808::1": "", "::ffff:8.8.8.8": "",

		"127.0.0.1": "loopback", "127.255.255.255": "loopback", "::1": "loopback", "::ffff:127.0.0.1": "loopback", "64:ff9b::7f00:1": "loopback",
		"2002:7f00:1::": "loopback", "::127.0.0.1": "loopback", "::ffff:0:127.0.0.1": "loopback",
		"0.0.0.0": "this host", "0.1.2.3": "this network", "::": "this host",
		"10.0.0.1": "private", "172.16.0.1": "private", "172.31.255.255": "private", "192.168.1.1": "private", "fd12:3456::1": "private",
		"fc00::1": "private", "fec0::1": "private", "::ffff:10.0.0.1": "private", "64:ff9b::a00:1": "private", "2002:c0a8:101::": "private",
		"169.254.1.1": "link-local", "fe80::1": "link-local", "fe80::1%eth0": "link-local", "2606::1%eth0": "link-local",
		"169.254.169.254": "metadata", "::ffff:169.254.169.254": "metadata", "64:ff9b::a9fe:a9fe": "metadata", "168.63.129.16": "metadata",
		"100.100.100.200": "metadata", "fd00:ec2::254": "metadata",
		"100.64.0.1": "carrier", "224.0.0.1": "multicast", "239.255.255.255": "multicast", "ff02::1": "multicast", "255.255.255.255": "broadcast",
		"240.0.0.1": "reserved", "192.0.2.1": "examples", "198.51.100.1": "examples", "203.0.113.1": "examples", "2001:db8::1": "examples",
		"198.18.0.1": "benchmarks", "2001:0:7f00:1::": "Teredo", "64:ff9b:1::1": "translator", "100::1": "discard", "4000::1": "reserved", "200::1": "reserved",
		"2a00::5efe:7f00:1": "loopback", "2a00:1450::200:5efe:10.0.0.1": "private", "2001:4860:1:2:0:5efe:169.254.169.254": "metadata",
		"2a00::100:5efe:192.168.0.1": "private", "2a00::5efe:8.8.8.8": "", "2a00::5eff:127.0.0.1": "", "2a00::1:0:5efe:127.0.0.1": "loopback", "2a00::8000:5efe:127.0.0.1": "",
		"2002:7f00:1:0:0:5efe:808:808": "loopback",
	} {
		err := guard.Check(netip.MustParseAddr(address))
		switch {
		case want == "" && err != nil:
			t.Errorf("%s: %v", address, err)
		case want != "" && (!errors.Is(err, guard.ErrRefused) || !strings.Contains(err.Error(), want)):
			t.Errorf("%s: %v, want a %s address", address, err, want)
		}
	}
	if err := guard.Check(netip.Addr{}); !errors.Is(err, guard.ErrRefused) {
		t.Errorf("no address: %v", err)
	}
}

// registries are the rows of both registries, as they are of 2025-10-09, and the other ranges that are not of the public internet. The rows
// that stand for addresses of IPv4 say so.
const registries = `
0.0.0.0/8 network
0.0.0.0/32 host
10.0.0.0/8 private
100.64.0.0/10 carrier
127.0.0.0/8 loopback
169.254.0.0/16 link-local
172.16.0.0/12 private
192.0.0.0/24 protocols
192.0.0.0/29 continuity
192.0.0.8/32 dummy
192.0.0.9/32 control
192.0.0.10/32 TURN
192.0.0.170/32 discovery
192.0.0.171/32 discovery
192.0.2.0/24 examples
192.31.196.0/24 AS112
192.52.193.0/24 tunnels
192.88.99.0/24 relays
192.88.99.2/32 relays
192.168.0.0/16 private
192.175.48.0/24 AS112
198.18.0.0/15 benchmarks
198.51.100.0/24 examples
203.0.113.0/24 examples
240.0.0.0/4 reserved
255.255.255.255/32 broadcast

::1/128 loopback
::/128 host
::ffff:0:0/96 IPv4
64:ff9b::/96 IPv4
64:ff9b:1::/48 translator
100::/64 discard
100:0:0:1::/64 dummy
2001::/23 protocols
2001::/32 Teredo
2001:1::1/128 control
2001:1::2/128 TURN
2001:1::3/128 registration
2001:2::/48 benchmarks
2001:3::/32 tunnels
2001:4:112::/48 AS112
2001:10::/28 ORCHID
2001:20::/28 ORCHID
2001:30::/28 drones
2001:db8::/32 examples
2002::/16 IPv4
2620:4f:8000::/48 AS112
3fff::/20 examples
5f00::/16 segment
fc00::/7 private
fe80::/10 link-local

224.0.0.0/4 multicast
ff00::/8 multicast
fec0::/10 private
`

// TestRegistries asks for the first and the last address of every range, and for some between.
func TestRegistries(t *testing.T) {
	t.Parallel()
	rows := 0
	for line := range strings.Lines(registries) {
		text, what, found := strings.Cut(strings.TrimSpace(line), " ")
		if !found {
			continue
		}
		rows++
		prefix := netip.MustParsePrefix(text)
		t.Run(text, func(t *testing.T) {
			t.Parallel()
			named := false
			rapid.Check(t, func(t *rapid.T) {
				a := inside(prefix, rapid.SliceOfN(rapid.OneOf(rapid.Byte(), rapid.SampledFrom([]byte{0, 255})), 16, 16).Draw(t, "address"))
				err := guard.Check(a)
				if what == "IPv4" {
					b := a.As16()
					plain := netip.AddrFrom4([4]byte(b[12:]))
					if prefix.Bits() == 16 {
						plain = netip.AddrFrom4([4]byte(b[2:6]))
					}
					if (err == nil) != (guard.Check(plain) == nil) {
						t.Fatalf("%s: %v, but %s: %v", a, err, plain, guard.Check(plain))
					}
				} else if !errors.Is(err, guard.ErrRefused) {
					t.Fatalf("%s: %v", a, err)
				}
				named = named || err != nil && strings.Contains(err.Error(), what)
			})
			for _, fill := range []byte{0, 255} {
				a := inside(prefix, bytes.Repeat([]byte{fill}, 16))
				err := guard.Check(a)
				if err == nil {
					t.Errorf("%s is public", a)
				}
				named = named || err != nil && strings.Contains(err.Error(), what)
			}
			if !named && what != "IPv4" {
				t.Errorf("no address of it is called %s", what)
			}
		})
	}
	if rows != 26+25+3 {
		t.Errorf("%d rows: the registry of IPv4 has 25, one of which is two addresses, that of IPv6 25", rows)
	}
}

// inside is the address of the prefix whose other bits are those of fill.
func inside(prefix netip.Prefix, fill []byte) netip.Addr {
	b := prefix.Addr().AsSlice()
	for i := range len(b) * 8 {
		if i >= prefix.Bits() {
			b[i/8] |= fill[i/8] & (0x80 >> (i % 8))
		}
	}
	a, _ := netip.AddrFromSlice(b)
	return a
}

// Whatever wraps an address of IPv4, it is judged as the address is.
func TestWrapped(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		b := [4]byte(rapid.SliceOfN(rapid.Byte(), 4, 4).Draw(t, "address"))
		plain := guard.Check(netip.AddrFrom4(b)) == nil
		for _, wrap := range [][16]byte{
			{10: 0xff, 11: 0xff, 12: b[0], 13: b[1], 14: b[2], 15: b[3]},
			{0: 0, 1: 0x64, 2: 0xff, 3: 0x9b, 12: b[0], 13: b[1], 14: b[2], 15: b[3]},
			{0: 0x20, 1: 0x02, 2: b[0], 3: b[1], 4: b[2], 5: b[3], 15: 1},
			{0: 0x2a, 10: 0x5e, 11: 0xfe, 12: b[0], 13: b[1], 14: b[2], 15: b[3]},
			{0: 0x26, 1: 0x06, 8: 0x02, 10: 0x5e, 11: 0xfe, 12: b[0], 13: b[1], 14: b[2], 15: b[3]},
			{8: 0xff, 9: 0xff, 12: b[0], 13: b[1], 14: b[2], 15: b[3]},
		} {
			a := netip.AddrFrom16(wrap)
			if got := guard.Check(a) == nil; got != plain {
				t.Fatalf("%s is allowed: %v, %s: %v", netip.AddrFrom4(b), plain, a, got)
			}
		}
	})
}

func TestControl(t *testing.T) {
	t.Parallel()
	for address, allowed := range map[string]bool{
		"8.8.8.8:443": true, "[2a00:1450::1]:443": true, "127.0.0.1:80": false, "[::1]:80": false, "[fe80::1%eth0]:80": false, "localhost:80": false, "": false,
	} {
		if err := guard.Control("tcp", address, nil); (err == nil) != allowed {
			t.Errorf("%s: %v", address, err)
		}
	}
}
