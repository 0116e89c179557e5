package testenv

import (
	"io"
	"net"
	"sync"
	"testing"
)

// Proxy is an address that stays while the server behind it changes or goes out of reach: a failover, a
// broken network.
type Proxy struct {
	Addr string // host:port

	mu     sync.Mutex
	target string // "" = cut
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

// Point breaks the connections of now and passes new ones on to target.
func (p *Proxy) Point(target string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.target = target
	for c := range p.conns {
		_ = c.Close()
	}
}

// Cut breaks the connections and every new one, until Point is called.
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

// track makes the connections known, unless the proxy points elsewhere by now.
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
