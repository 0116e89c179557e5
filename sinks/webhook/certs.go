package webhook

import (
	"bytes"
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
)

// certs are the certificates of a webhook. Their files are looked at before each new connection, so that one that was renewed
// is in force without a restart.
type certs struct {
	o      TLS
	logger *slog.Logger

	mu    sync.Mutex
	tried [3][]byte // contents of the files that were read last, good or not
	good  *tls.Config
	told  string // the last fault that was logged, while it lasts
}

func newCerts(o TLS, logger *slog.Logger) (*certs, error) {
	if (o.Cert == "") != (o.Key == "") {
		return nil, errors.New("webhook: tls.cert and tls.key go together")
	}
	c := &certs{o: o, logger: logger}
	files, err := c.read()
	if err != nil {
		return nil, err
	}
	c.tried = files
	c.good, err = c.parse(files)
	return c, err
}

// config is for a connection to the host.
func (c *certs) config(host string) *tls.Config {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.o.CA != "" || c.o.Cert != "" {
		c.refresh()
	}
	out := c.good.Clone()
	out.ServerName = cmp.Or(c.o.ServerName, host)
	return out
}

// refresh reads the files. While they are no good, as in the middle of being replaced, the last good ones stay.
func (c *certs) refresh() {
	files, err := c.read()
	if err == nil {
		if same(files, c.tried) {
			return
		}
		c.tried = files
		var fresh *tls.Config
		if fresh, err = c.parse(files); err == nil {
			c.good, c.told = fresh, ""
			return
		}
	}
	if text := err.Error(); text != c.told {
		c.told = text
		c.logger.Warn("certificates of a webhook cannot be read anew; those of before stay in use", "error", err)
	}
}

func (c *certs) read() (files [3][]byte, err error) {
	for i, name := range []string{c.o.CA, c.o.Cert, c.o.Key} {
		if name == "" {
			continue
		}
		if files[i], err = os.ReadFile(name); err != nil {
			return files, fmt.Errorf("webhook: tls: %w", err)
		}
	}
	return files, nil
}

func (c *certs) parse(files [3][]byte) (*tls.Config, error) {
	out := &tls.Config{MinVersion: tls.VersionTLS12, NextProtos: []string{"h2", "http/1.1"}}
	if c.o.CA != "" {
		out.RootCAs = x509.NewCertPool()
		if !out.RootCAs.AppendCertsFromPEM(files[0]) {
			return nil, fmt.Errorf("webhook: tls.ca: there is no certificate in %s", c.o.CA)
		}
	}
	if c.o.Cert != "" {
		pair, err := tls.X509KeyPair(files[1], files[2])
		if err != nil {
			return nil, fmt.Errorf("webhook: tls.cert %s and tls.key %s: %w", c.o.Cert, c.o.Key, err)
		}
		out.Certificates = []tls.Certificate{pair}
	}
	return out, nil
}

func same(a, b [3][]byte) bool {
	for i := range a {
		if !bytes.Equal(a[i], b[i]) {
			return false
		}
	}
	return true
}
