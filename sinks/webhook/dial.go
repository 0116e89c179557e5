package webhook

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"syscall"
	"time"

	"tallyman/sinks/guard"
)

// The times of connections. The timeout of a call is its caller's, and ends the wait for a connection, too.
const (
	dialFor   = 30 * time.Second
	idleFor   = 90 * time.Second
	pingAfter = 15 * time.Second // without a word on a connection of HTTP/2
	pingFor   = 10 * time.Second
)

const headerBytes = 64 << 10

// control decides whether a connection may be made; see net.Dialer.
type control = func(network, address string, c syscall.RawConn) error

func dialer(o *Options, allow control) *net.Dialer {
	return &net.Dialer{Timeout: dialFor, KeepAlive: 30 * time.Second, Resolver: o.Resolver, Control: allow}
}

// transport speaks HTTP/1.1 and HTTP/2, follows nothing, and asks no proxy: it would connect where the guard does not look.
func transport(o *Options, certs *clientCerts) *http.Transport {
	allow := guard.Control
	if o.AllowPrivate {
		allow = nil
	}
	d := dialer(o, allow)
	return &http.Transport{
		DialContext: d.DialContext,
		DialTLSContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
			return dialTLS(ctx, d, certs, network, addr)
		},
		ForceAttemptHTTP2:      true,
		HTTP2:                  &http.HTTP2Config{SendPingTimeout: pingAfter, PingTimeout: pingFor},
		MaxIdleConnsPerHost:    o.Connections,
		IdleConnTimeout:        idleFor,
		DisableCompression:     true,
		MaxResponseHeaderBytes: headerBytes,
	}
}

// dialTLS connects with the certificates of now.
func dialTLS(ctx context.Context, d *net.Dialer, certs *clientCerts, network, addr string) (net.Conn, error) {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, err
	}
	ctx, end := context.WithTimeout(ctx, dialFor)
	defer end()
	raw, err := d.DialContext(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	c := tls.Client(raw, certs.config(host))
	if err := c.HandshakeContext(ctx); err != nil {
		_ = raw.Close()
		return nil, err
	}
	return c, nil
}
