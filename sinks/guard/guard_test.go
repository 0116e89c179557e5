package guard_test

import (
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
		"0.0.0.0": "this host", "0.1.2.3": "this host", "::": "this host",
		"10.0.0.1": "private", "172.16.0.1": "private", "172.31.255.255": "private", "192.168.1.1": "private", "fd12:3456::1": "private",
		"fc00::1": "private", "fec0::1": "private", "::ffff:10.0.0.1": "private", "64:ff9b::a00:1": "private", "2002:c0a8:101::": "private",
		"169.254.1.1": "link-local", "fe80::1": "link-local", "fe80::1%eth0": "link-local", "2606::1%eth0": "link-local",
		"169.254.169.254": "metadata", "::ffff:169.254.169.254": "metadata", "64:ff9b::a9fe:a9fe": "metadata", "168.63.129.16": "metadata",
		"100.100.100.200": "metadata", "fd00:ec2::254": "metadata",
		"100.64.0.1": "carrier", "224.0.0.1": "multicast", "239.255.255.255": "multicast", "ff02::1": "multicast", "255.255.255.255": "reserved",
		"240.0.0.1": "reserved", "192.0.2.1": "examples", "198.51.100.1": "examples", "203.0.113.1": "examples", "2001:db8::1": "examples",
		"198.18.0.1": "benchmarks", "2001:0:7f00:1::": "reserved", "64:ff9b:1::1": "translator", "100::1": "reserved", "4000::1": "reserved",
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
