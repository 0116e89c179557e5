package testenv

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/Shopify/toxiproxy/v2"
	"github.com/rs/zerolog"
)

// Toxic is an address in front of a server, whose network can be made bad: slow, silent, reset. See Proxy for one that is cut
// or leads elsewhere.
type Toxic struct {
	Addr string // host:port; it stays

	t      testing.TB
	target string
	proxy  *toxiproxy.Proxy
	names  int
}

// NewToxic listens on a free port and passes everything on to target (host:port) until the test ends. Its methods are for
// one goroutine.
func NewToxic(t testing.TB, target string) *Toxic {
	t.Helper()
	port, err := freePort() // which no outgoing connection takes while it is free for a moment
	if err != nil {
		t.Fatal(err)
	}
	x := &Toxic{Addr: fmt.Sprintf("127.0.0.1:%d", port), t: t, target: target}
	x.start()
	t.Cleanup(func() { x.proxy.Stop() })
	return x
}

// Latency delays everything that the server says by d, give or take the jitter, also on the connections of now.
func (x *Toxic) Latency(d, jitter time.Duration) {
	x.t.Helper()
	x.add("latency", "downstream", fmt.Sprintf(`{"latency":%d,"jitter":%d}`, d.Milliseconds(), jitter.Milliseconds()))
}

// Silence lets nothing through any more in either direction, and keeps the connections: a network that swallows packets.
func (x *Toxic) Silence() {
	x.t.Helper()
	x.add("timeout", "upstream", `{"timeout":0}`)
	x.add("timeout", "downstream", `{"timeout":0}`)
}

// Reset breaks the connections of now, and resets each new one when the server says its first word: it has heard the client,
// and the client does not hear it.
func (x *Toxic) Reset() {
	x.t.Helper()
	x.restart()
	x.add("reset_peer", "downstream", `{"timeout":0}`)
}

// Limit breaks the connections of now, and closes each new one after that many bytes from the server.
func (x *Toxic) Limit(bytes int) {
	x.t.Helper()
	x.restart()
	x.add("limit_data", "downstream", fmt.Sprintf(`{"bytes":%d}`, bytes))
}

// Heal breaks the connections of now; new ones are well.
func (x *Toxic) Heal() {
	x.t.Helper()
	x.restart()
}

// restart begins without faults. Taking single ones out of a running proxy can hang in this library; a new one cannot.
func (x *Toxic) restart() {
	x.t.Helper()
	x.proxy.Stop()
	x.start()
}

func (x *Toxic) start() {
	x.t.Helper()
	server := toxiproxy.NewServer(toxiproxy.NewMetricsContainer(nil), zerolog.Nop())
	x.proxy = toxiproxy.NewProxy(server, x.t.Name(), x.Addr, x.target)
	if err := x.proxy.Start(); err != nil {
		x.t.Fatal(err)
	}
}

func (x *Toxic) add(kind, stream, attributes string) {
	x.t.Helper()
	x.names++
	text := fmt.Sprintf(`{"name":"%s%d","type":%q,"stream":%q,"attributes":%s}`, kind, x.names, kind, stream, attributes)
	if _, err := x.proxy.Toxics.AddToxicJson(strings.NewReader(text)); err != nil {
		x.t.Fatal(err)
	}
}
