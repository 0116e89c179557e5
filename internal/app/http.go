package app

import (
	"crypto/tls"
	"fmt"
	"log/slog"

	"tallyman/internal/api"
	"tallyman/internal/certs"
	"tallyman/internal/config"
)

// http is how the API meets its callers.
func (a *App) http() (api.HTTP, error) {
	c := &a.cfg.HTTP
	h := api.HTTP{Origins: c.CORS.Origins, Rate: api.Rate{Failures: c.Rate.Failures.PerSecond(), Tries: c.Rate.Failures.Calls}}
	h.Rate.Requests, h.Rate.Burst = c.Rate.Limits(a.cfg.Auth.Mode)
	var err error
	h.TLS, err = openTLS(&c.TLS, a.log)
	return h, err
}

// openTLS reads the certificate of the API; nil where it speaks plain HTTP.
func openTLS(c *config.TLSFiles, log *slog.Logger) (*api.TLS, error) {
	if !c.On() {
		return nil, nil //nolint:nilnil // there is none
	}
	pair, err := certs.OpenPair(string(c.Cert), string(c.Key), log)
	if err != nil {
		return nil, fmt.Errorf("http.tls: %w", err)
	}
	least := uint16(tls.VersionTLS12)
	if c.MinVersion == config.TLS13 {
		least = tls.VersionTLS13
	}
	return &api.TLS{Pair: pair, Least: least}, nil
}

// CheckTLS reads the certificate of the API, as the start of a node does.
func CheckTLS(cfg *config.Config) error {
	_, err := openTLS(&cfg.HTTP.TLS, slog.New(slog.DiscardHandler))
	return err
}
