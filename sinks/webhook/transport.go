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

// dialTLS connects with the certificates of now.
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

// clientCerts are the certificates of a webhook. Their files are looked at before each new connection, so that one that was
// renewed is in force without a restart.
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
				logger.Warn("certificates of a webhook cannot be read anew; those of before stay in use", "error", err)
			}
		},
	})
	if err != nil {
		return nil, fmt.Errorf("webhook: %w", err)
	}
	return c, nil
}

// config is for a connection to the host: that of the sink's url, or the one that gives tokens, for which no name is set.
func (c *clientCerts) config(host string, ours bool) *tls.Config {
	current, _ := c.files.Get() // what is wrong was logged
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
