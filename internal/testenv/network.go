package testenv

import (
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/Shopify/toxiproxy/v2"
	"github.com/rs/zerolog"
)

// Proxy is a fixed address in front of a server. A test can put another server behind the address, as a failover does,
// or put the server out of reach, as a broken network does.
type Proxy struct {
	Addr string // host:port

	mu     sync.Mutex
	target string // Empty means the proxy is cut.
	conns  map[net.Conn]bool
	wg     sync.WaitGroup
}

// NewProxy listens on a free port and passes every connection on to target (host:port) until the test ends.
func NewProxy(t testing.TB, target string) *Proxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &Proxy{Addr: l.Addr().String(), target: target, conns: map[net.Conn]bool{}}
	p.wg.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			p.wg.Go(func() { p.serve(c) })
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		p.Cut()
		p.wg.Wait()
	})
	return p
}

// Point breaks all connections and passes new ones on to target.
func (p *Proxy) Point(target string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.target = target
	for c := range p.conns {
		_ = c.Close()
	}
}

// Cut breaks all connections, and each new one, until Point is called.
func (p *Proxy) Cut() { p.Point("") }

func (p *Proxy) serve(client net.Conn) {
	defer func() { _ = client.Close() }()
	p.mu.Lock()
	target := p.target
	p.mu.Unlock()
	if target == "" {
		return
	}
	server, err := net.Dial("tcp", target)
	if err != nil {
		return
	}
	defer func() { _ = server.Close() }()
	if !p.track(target, client, server) {
		return
	}
	defer p.untrack(client, server)

	back := make(chan struct{})
	go func() {
		defer close(back)
		_, _ = io.Copy(client, server)
		_ = client.Close()
	}()
	_, _ = io.Copy(server, client)
	_ = server.Close()
	<-back
}

// track registers the connections, unless the proxy points to another target by now.
func (p *Proxy) track(target string, conns ...net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.target != target {
		return false
	}
	for _, c := range conns {
		p.conns[c] = true
	}
	return true
}

func (p *Proxy) untrack(conns ...net.Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range conns {
		delete(p.conns, c)
	}
}

// Toxic is a fixed address in front of a server. A test can make its network slow or silent, or reset its connections.
// See Proxy for a network that is cut or leads to another server.
type Toxic struct {
	Addr string // host:port. It never changes.

	t      testing.TB
	target string
	proxy  *toxiproxy.Proxy
	names  int
}

// NewToxic listens on a free port and passes everything on to target (host:port) until the test ends. Its methods are
// for one goroutine.
func NewToxic(t testing.TB, target string) *Toxic {
	t.Helper()
	x := &Toxic{t: t, target: target}
	var err error
	for range 5 { // Another process may take the port between the choice and the start.
		var port int
		if port, err = freePort(); err != nil { // No outgoing connection takes such a port while it is free.
			break
		}
		x.Addr = fmt.Sprintf("127.0.0.1:%d", port)
		if err = x.start(); err == nil {
			t.Cleanup(func() { x.proxy.Stop() })
			return x
		}
	}
	t.Fatal(err)
	return nil
}

// Latency delays all data from the server by d plus or minus the jitter, on open connections as well.
func (x *Toxic) Latency(d, jitter time.Duration) {
	x.t.Helper()
	x.add("latency", "downstream", fmt.Sprintf(`{"latency":%d,"jitter":%d}`, d.Milliseconds(), jitter.Milliseconds()))
}

// Silence stops all data in both directions and keeps the connections open, like a network that drops packets.
func (x *Toxic) Silence() {
	x.t.Helper()
	x.add("timeout", "upstream", `{"timeout":0}`)
	x.add("timeout", "downstream", `{"timeout":0}`)
}

// Reset breaks all connections, and resets each new one when the server sends its first data. So the server has read
// the request, and the client never gets an answer.
func (x *Toxic) Reset() {
	x.t.Helper()
	x.restart()
	x.add("reset_peer", "downstream", `{"timeout":0}`)
}

// Limit breaks all connections, and closes each new connection after the number of bytes from the server.
func (x *Toxic) Limit(bytes int) {
	x.t.Helper()
	x.restart()
	x.add("limit_data", "downstream", fmt.Sprintf(`{"bytes":%d}`, bytes))
}

// Heal breaks all connections. New ones work normally.
func (x *Toxic) Heal() {
	x.t.Helper()
	x.restart()
}

// restart replaces the proxy by one without faults. Removing single faults of a running proxy can hang in this library.
func (x *Toxic) restart() {
	x.t.Helper()
	x.proxy.Stop()
	var err error
	poll(func() bool { // Another process may probe the port at this moment.
		err = x.start()
		return !errors.Is(err, syscall.EADDRINUSE)
	}, 5*time.Second)
	if err != nil {
		x.t.Fatal(err)
	}
}

func (x *Toxic) start() error {
	server := toxiproxy.NewServer(toxiproxy.NewMetricsContainer(nil), zerolog.Nop())
	x.proxy = toxiproxy.NewProxy(server, x.t.Name(), x.Addr, x.target)
	return x.proxy.Start()
}

func (x *Toxic) add(kind, stream, attributes string) {
	x.t.Helper()
	x.names++
	text := fmt.Sprintf(`{"name":"%s%d","type":%q,"stream":%q,"attributes":%s}`, kind, x.names, kind, stream, attributes)
	if _, err := x.proxy.Toxics.AddToxicJson(strings.NewReader(text)); err != nil {
		x.t.Fatal(err)
	}
}
