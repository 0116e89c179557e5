package webhook

import (
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"

	"tallyman/internal/certs"
)

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

// config is for a connection to the host.
func (c *clientCerts) config(host string) *tls.Config {
	current, _ := c.files.Get() // what is wrong was logged
	out := current.Clone()
	out.ServerName = cmp.Or(c.o.ServerName, host)
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
