package app

import (
	"context"
	"crypto/rsa"
	"crypto/tls"
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"tallyman/internal/api"
	"tallyman/internal/auth"
	"tallyman/internal/certs"
	"tallyman/internal/config"
	"tallyman/internal/ledger"
)

// http returns how the API serves its callers: TLS, rate limits and allowed origins.
func (a *App) http() (api.HTTP, error) {
	c := &a.cfg.HTTP
	h := api.HTTP{Origins: c.CORS.Origins, Rate: api.Rate{Failures: c.Rate.Failures.PerSecond(), Tries: c.Rate.Failures.Calls}}
	h.Rate.Requests, h.Rate.Burst = c.Rate.Limits(a.cfg.Auth.Mode)
	var err error
	h.TLS, err = openTLS(&c.TLS, a.log)
	return h, err
}

// openTLS reads the certificate of the API. openTLS returns nil where the API speaks plain HTTP.
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

const (
	tokensUsedEvery   = time.Minute
	tokensForgetEvery = time.Hour
	leastKeyBits      = 2048 // Of an RSA key.
)

// tokens keeps the node's copy of the API tokens in memory up to date with the ledger. Its methods may be called
// concurrently.
type tokens struct {
	ledger.Tokens

	memory    *auth.Tokens
	retention time.Duration // How long ended tokens are kept.
	log       *slog.Logger
}

// read copies the ledger's tokens into memory.
func (t *tokens) read(ctx context.Context) error {
	before := t.memory.Mark()
	list, err := t.ListTokens(ctx)
	if err != nil {
		return fmt.Errorf("read the tokens: %w", err)
	}
	t.memory.Set(list, before)
	return nil
}

// AddToken adds a token. The token is valid on this node at once.
func (t *tokens) AddToken(ctx context.Context, who ledger.Author, token ledger.Token) error {
	if err := t.Tokens.AddToken(ctx, who, token); err != nil {
		return err
	}
	t.memory.Add(token)
	return nil
}

// RevokeToken revokes a token. The token is invalid on this node at once.
func (t *tokens) RevokeToken(ctx context.Context, who ledger.Author, id string, at time.Time) error {
	if err := t.Tokens.RevokeToken(ctx, who, id, at); err != nil {
		return err
	}
	t.memory.Revoke(id)
	return nil
}

// run records once a minute which tokens were used, and deletes old ended tokens once an hour, until the context ends.
func (t *tokens) run(ctx context.Context) {
	used, forget := time.NewTicker(tokensUsedEvery), time.NewTicker(tokensForgetEvery)
	defer used.Stop()
	defer forget.Stop()
	for {
		select {
		case <-ctx.Done():
			t.record(context.WithoutCancel(ctx))
			return
		case <-used.C:
			t.record(ctx)
		case <-forget.C:
			if _, err := t.ForgetTokens(ctx, time.Now().Add(-t.retention)); err != nil && ctx.Err() == nil {
				t.log.Warn("Old ended tokens were not deleted. The node tries again in an hour.", "error", err)
			}
		}
	}
}

// record writes to the ledger when tokens were last used. After an error these times are lost. That is acceptable: they
// are only shown to people, and a token in use is soon used again.
func (t *tokens) record(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, followTimeout)
	defer cancel()
	if err := t.UseTokens(ctx, t.memory.Used()); err != nil && ctx.Err() == nil {
		t.log.Warn("The times of the last use of tokens were not recorded. They are lost.", "error", err)
	}
}

// openAuth makes the authenticator of the API's callers.
func (a *App) openAuth(ctx context.Context) error {
	a.tokens = &tokens{Tokens: a.ledger, memory: auth.NewTokens(), retention: a.cfg.Ledger.Retention, log: a.log}
	if err := a.follow.add(ctx, "tokens", a.tokens.read); err != nil {
		return err
	}
	if a.cfg.Auth.Mode == config.AuthNone {
		if err := auth.CheckListen(a.cfg.HTTP.Listen); err != nil {
			return fmt.Errorf("http.listen: %w", err)
		}
		a.auth = auth.None{}
		return nil
	}
	bearer := &auth.Bearer{Tokens: a.tokens.memory}
	if c := a.cfg.Auth.JWT; c != nil {
		var err error
		if bearer.JWT, err = a.openJWT(ctx, c); err != nil {
			return fmt.Errorf("auth.jwt: %w", err)
		}
	}
	a.auth = bearer
	return nil
}

// publicKey reads an RSA public key from a PEM file.
func publicKey(file string) (*rsa.PublicKey, error) {
	pemText, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("public_key: %w", err)
	}
	key, err := jwt.ParseRSAPublicKeyFromPEM(pemText)
	if err != nil {
		return nil, fmt.Errorf("public_key: %s holds no RSA public key in PEM: %w", file, err)
	}
	if bits := key.N.BitLen(); bits < leastKeyBits {
		return nil, fmt.Errorf("public_key: %s has %d bits; at least %d are needed", file, bits, leastKeyBits)
	}
	return key, nil
}

func (a *App) openJWT(ctx context.Context, c *config.JWT) (*auth.JWT, error) {
	o := auth.JWTOptions{
		Secret: []byte(c.Secret.Reveal()), Audience: c.Audience, Issuer: c.Issuer, Leeway: c.Leeway,
		Claims: auth.Claims(c.Claims), Access: c.Access, Warehouses: c.Warehouses,
	}
	switch {
	case c.PublicKey != "":
		var err error
		if o.PublicKey, err = publicKey(string(c.PublicKey)); err != nil {
			return nil, err
		}
	case c.JWKS != "":
		keysCtx, end := context.WithCancel(context.WithoutCancel(ctx))
		a.endKeys = end
		keys, err := auth.NewKeys(keysCtx, c.JWKS, a.log, auth.KeysOptions{})
		if err != nil {
			return nil, err
		}
		o.Keys = keys
	}
	return auth.NewJWT(o), nil
}
