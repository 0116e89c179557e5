package webhook

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"syscall"
	"time"

	"tallyman/internal/certs"
	"tallyman/sinks/guard"
)

// The time limits of connections. The caller sets the timeout of a whole call, which also ends the wait for a
// connection.
const (
	dialFor   = 30 * time.Second
	idleFor   = 90 * time.Second
	pingAfter = 15 * time.Second // after this silence, HTTP/2 checks the connection with a ping
	pingFor   = 10 * time.Second
)

const headerBytes = 64 << 10

// control decides whether a connection may be made. See net.Dialer.
type control = func(network, address string, c syscall.RawConn) error

func dialer(o *Options, allow control) *net.Dialer {
	return &net.Dialer{Timeout: dialFor, KeepAlive: 30 * time.Second, Resolver: o.Resolver, Control: allow}
}

// transport makes HTTP/1.1 and HTTP/2 connections. transport follows no redirect. transport uses no proxy, because the
// guard would check the address of the proxy instead of the server's.
func transport(o *Options, host string, certs *clientCerts) *http.Transport {
	allow := guard.Control
	if o.AllowPrivate {
		allow = nil
	}
	d := dialer(o, allow)
	return &http.Transport{
		DialContext: d.DialContext,
		DialTLSContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
			return dialTLS(ctx, d, certs, host, network, addr)
		},
		ForceAttemptHTTP2:      true,
		HTTP2:                  &http.HTTP2Config{SendPingTimeout: pingAfter, PingTimeout: pingFor},
		MaxIdleConnsPerHost:    o.Connections,
		IdleConnTimeout:        idleFor,
		DisableCompression:     true,
		MaxResponseHeaderBytes: headerBytes,
	}
}

// dialTLS connects with the current certificates.
func dialTLS(ctx context.Context, d *net.Dialer, certs *clientCerts, ours, network, addr string) (net.Conn, error) {
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
	c := tls.Client(raw, certs.config(host, host == ours))
	if err := c.HandshakeContext(ctx); err != nil {
		_ = raw.Close()
		return nil, err
	}
	return c, nil
}

// clientCerts holds the certificates of a webhook. clientCerts checks their files before each new connection, so that a
// renewed certificate is used without a restart.
type clientCerts struct {
	o     TLS
	files *certs.Files[*tls.Config]
}

func newCerts(o TLS, logger *slog.Logger) (*clientCerts, error) {
	if (o.Cert == "") != (o.Key == "") {
		return nil, errors.New("webhook: tls.cert and tls.key go together")
	}
	c := &clientCerts{o: o}
	var err error
	c.files, err = certs.Open(certs.Options[*tls.Config]{
		Names: []string{o.CA, o.Cert, o.Key}, Parse: c.parse,
		Told: func(_ *tls.Config, err error) {
			if err != nil {
				logger.Warn("Certificates of a webhook cannot be read. The previous certificates stay in use.", "error", err)
			}
		},
	})
	if err != nil {
		return nil, fmt.Errorf("webhook: %w", err)
	}
	return c, nil
}

// config returns the TLS settings for a host. The setting server_name belongs to the host of the sink's url (ours is
// true), and not to the server that gives tokens.
func (c *clientCerts) config(host string, ours bool) *tls.Config {
	current, _ := c.files.Get() // a fault was logged by Told
	out := current.Clone()
	out.ServerName = host
	if ours {
		out.ServerName = cmp.Or(c.o.ServerName, host)
	}
	return out
}

func (c *clientCerts) parse(files [][]byte) (*tls.Config, error) {
	out := &tls.Config{MinVersion: tls.VersionTLS12, NextProtos: []string{"h2", "http/1.1"}}
	if c.o.CA != "" {
		out.RootCAs = x509.NewCertPool()
		if !out.RootCAs.AppendCertsFromPEM(files[0]) {
			return nil, fmt.Errorf("tls.ca: there is no certificate in %s", c.o.CA)
		}
	}
	if c.o.Cert != "" {
		pair, err := certs.ParsePair(files[1], files[2])
		if err != nil {
			return nil, fmt.Errorf("tls.cert %s and tls.key %s: %w", c.o.Cert, c.o.Key, err)
		}
		out.Certificates = []tls.Certificate{pair}
	}
	return out, nil
}
