package webhook_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"net"
	"net/netip"
	"sync"
	"testing"
)

// names is a resolver that returns the next of the addresses for each query of any name. The last address is repeated.
func names(t testing.TB, addresses ...string) *net.Resolver {
	t.Helper()
	server, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var serving sync.WaitGroup
	serving.Go(func() { answerNames(server, addresses) })
	t.Cleanup(func() {
		_ = server.Close()
		serving.Wait()
	})
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, "udp", server.LocalAddr().String())
	}}
}

func answerNames(server net.PacketConn, addresses []string) {
	buf := make([]byte, 1500)
	asked := 0
	for {
		n, from, err := server.ReadFrom(buf)
		if err != nil {
			return
		}
		const ofIPv4 = 1
		name := bytes.IndexByte(buf[12:n], 0) + 13 // behind the header and the name's closing zero
		kind := binary.BigEndian.Uint16(buf[name:])
		answer := append([]byte{}, buf[:name+4]...)
		copy(answer[2:12], []byte{0x81, 0x80, 0, 1, 0, 0, 0, 0, 0, 0})
		if kind == ofIPv4 {
			a := netip.MustParseAddr(addresses[min(asked, len(addresses)-1)]).As4()
			asked++
			answer[7] = 1
			answer = append(answer, 0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 0, 0, 4)
			answer = append(answer, a[:]...)
		}
		_, _ = server.WriteTo(answer, from)
	}
}
