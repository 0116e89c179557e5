package cli

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os/user"
	"slices"
	"time"

	"tallyman/internal/auth"
	"tallyman/internal/ledger"
	"tallyman/internal/wire"
)

// TokenLedger is the ledger, open for its tokens alone.
type TokenLedger interface {
	ledger.Tokens
	Close() error
}

// tokenKeeper is where tokens are kept: a server or the ledger.
type tokenKeeper interface {
	create(ctx context.Context, ask *wire.TokenAskForm) (wire.NewTokenForm, error)
	list(ctx context.Context, ended bool) ([]wire.TokenForm, error)
	revoke(ctx context.Context, id string) (wire.TokenForm, error)
	close() error
}

// tokenKeeper is the server where one is named, else the configured ledger.
func (c *command) tokenKeeper(ctx context.Context) (tokenKeeper, error) {
	if c.server != "" || c.getenv("TALLYMAN_SERVER") != "" {
		if c.config != "" || len(c.set) > 0 {
			return nil, usage("--server asks a server and --config and --set open the ledger: give one of them")
		}
		return remoteTokens{c.client()}, nil
	}
	cfg, err := c.lazyConfig()
	if err != nil {
		return nil, err
	}
	if err := cfg.Need("ledger", "url"); err != nil {
		return nil, err
	}
	l, err := c.services.OpenTokens(ctx, cfg)
	if errors.Is(err, ledger.ErrInUse) {
		return nil, unreachable(fmt.Errorf("%w\nWhile a server has the ledger open, ask it: --server %s://%s --token-file FILE, with the token of an admin. To make the first one, stop it for a moment", err, cfg.HTTP.Scheme(), cfg.HTTP.Listen))
	}
	if err != nil {
		return nil, unreachable(err)
	}
	return localTokens{l}, nil
}

// remoteTokens asks a server.
type remoteTokens struct{ client *client }

func (r remoteTokens) create(ctx context.Context, ask *wire.TokenAskForm) (token wire.NewTokenForm, err error) {
	return token, r.client.do(ctx, http.MethodPost, "/tokens", ask, &token)
}

func (r remoteTokens) list(ctx context.Context, ended bool) ([]wire.TokenForm, error) {
	var answer struct {
		Tokens []wire.TokenForm `json:"tokens"`
	}
	path := "/tokens"
	if ended {
		path += "?ended=true"
	}
	err := r.client.do(ctx, http.MethodGet, path, nil, &answer)
	return answer.Tokens, err
}

func (r remoteTokens) revoke(ctx context.Context, id string) (token wire.TokenForm, err error) {
	return token, r.client.do(ctx, http.MethodPost, "/tokens/"+url.PathEscape(id)+"/revoke", nil, &token)
}

func (remoteTokens) close() error { return nil }

// localTokens opens the ledger itself.
type localTokens struct{ ledger TokenLedger }

func (l localTokens) create(ctx context.Context, ask *wire.TokenAskForm) (wire.NewTokenForm, error) {
	now := time.Now()
	who := localUser()
	token, secret, faults := auth.NewTokenOf(ask, who.By, now)
	if len(faults) > 0 {
		return wire.NewTokenForm{}, usage("--%s: %s", flagOf[faults[0].Location], faults[0].Message)
	}
	if err := l.ledger.AddToken(ctx, who, token); err != nil {
		return wire.NewTokenForm{}, err
	}
	return wire.NewTokenForm{TokenForm: auth.TokenForm(&token, now), Secret: secret}, nil
}

// flagOf has the flags by the members of the form.
var flagOf = map[string]string{
	"body.name": "name", "body.subject": "subject", "body.access": "access", "body.subscribers": "subscriber", "body.warehouses": "warehouse",
	"body.expires": "expires",
}

func (l localTokens) list(ctx context.Context, ended bool) ([]wire.TokenForm, error) {
	list, err := l.ledger.ListTokens(ctx)
	if err != nil {
		return nil, err
	}
	return auth.TokenForms(list, ended, time.Now()), nil
}

func (l localTokens) revoke(ctx context.Context, id string) (wire.TokenForm, error) {
	form, err := l.show(ctx, id)
	if err != nil || form.Revoked != nil { // twice changes nothing
		return form, err
	}
	if err := l.ledger.RevokeToken(ctx, localUser(), id, time.Now()); err != nil {
		return wire.TokenForm{}, err
	}
	return l.show(ctx, id)
}

func (l localTokens) show(ctx context.Context, id string) (wire.TokenForm, error) {
	list, err := l.ledger.ListTokens(ctx)
	if err != nil {
		return wire.TokenForm{}, err
	}
	i := slices.IndexFunc(list, func(t ledger.Token) bool { return t.ID == id })
	if i < 0 {
		return wire.TokenForm{}, fmt.Errorf("%w: token %q", ledger.ErrNotFound, id)
	}
	return auth.TokenForm(&list[i], time.Now()), nil
}

func (l localTokens) close() error { return l.ledger.Close() }

// localUser is who runs the program, as the ledger names it.
func localUser() ledger.Author {
	who := ledger.Author{By: "local:unknown", Via: ledger.ViaLocal}
	if u, err := user.Current(); err == nil && u.Username != "" {
		who.By = "local:" + u.Username
	}
	return who
}
