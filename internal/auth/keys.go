package auth

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/MicahParks/jwkset"
	"github.com/MicahParks/keyfunc/v3"
	"github.com/golang-jwt/jwt/v5"
	"golang.org/x/time/rate"
)

const (
	keysEvery    = 15 * time.Minute // Time between regular fetches.
	keysUnknown  = 10 * time.Second // Least time between fetches because of unknown keys.
	keysTimeout  = 5 * time.Second
	maxKeysBytes = 1 << 20

	mostRedirects = 5
)

// Keys is the public keys that an identity provider publishes at a URL (JWKS). Keys fetches them regularly, and when a
// token names an unknown key. While the provider does not answer, the known keys stay valid.
type Keys struct {
	functions keyfunc.Keyfunc
	known     jwkset.Storage
	fetching  jwkset.Storage // Like known, but fetches unknown keys.

	mu     sync.Mutex // Held during a fetch. Other requests wait for the result of the same fetch.
	room   *rate.Limiter
	failed atomic.Bool // A fetch has failed since the last fetch for an unknown key began.
}

// KeysOptions are settings for tests. A zero value means the default.
type KeysOptions struct {
	Unknown time.Duration // Least time between fetches because of unknown keys.
	Client  *http.Client
}

// NewKeys fetches the keys for the first time, and again until the context ends. It does not fail where the provider
// does not answer, so that a node can start without its identity provider.
func NewKeys(ctx context.Context, url string, log *slog.Logger, o KeysOptions) (*Keys, error) {
	if o.Unknown == 0 {
		o.Unknown = keysUnknown
	}
	if o.Client == nil {
		o.Client = &http.Client{Transport: limited{http.DefaultTransport}}
	}
	o.Client.CheckRedirect = keepTLS
	k := &Keys{room: rate.NewLimiter(rate.Every(o.Unknown), 1)}
	failed := func(ctx context.Context, err error) {
		k.failed.Store(true)
		log.LogAttrs(ctx, slog.LevelWarn, "Keys of the identity provider could not be fetched. Known keys stay valid; the node tries again.", slog.String("url", url), slog.Any("error", err))
	}
	var err error
	k.known, err = jwkset.NewStorageFromHTTP(url, jwkset.HTTPClientStorageOptions{
		Client: o.Client, Ctx: ctx, HTTPTimeout: keysTimeout, NoErrorReturnFirstHTTPReq: true, RefreshErrorHandler: failed, RefreshInterval: keysEvery,
	})
	if err != nil {
		return nil, fmt.Errorf("the keys of the identity provider: %w", err)
	}
	k.fetching, err = jwkset.NewHTTPClient(jwkset.HTTPClientOptions{
		HTTPURLs: map[string]jwkset.Storage{url: k.known}, RateLimitWaitMax: keysTimeout, RefreshUnknownKID: rate.NewLimiter(rate.Inf, 1),
	})
	if err != nil {
		return nil, fmt.Errorf("the keys of the identity provider: %w", err)
	}
	k.functions, err = keyfunc.New(keyfunc.Options{
		Ctx: ctx, Storage: gate{k.known, k}, UseWhitelist: []jwkset.USE{jwkset.UseSig, ""},
	})
	if err != nil {
		return nil, fmt.Errorf("the keys of the identity provider: %w", err)
	}
	return k, nil
}

// keyfunc returns a function that finds the key that a token names.
func (k *Keys) keyfunc(ctx context.Context) jwt.Keyfunc {
	find := k.functions.KeyfuncCtx(ctx)
	return func(t *jwt.Token) (any, error) {
		if _, named := t.Header[jwkset.HeaderKID]; !named {
			return nil, errors.New("the token names no key")
		}
		return find(t)
	}
}

// gate is the key storage that the library reads. It fetches an unknown key, but at most once in KeysOptions.Unknown:
// invented key ids in tokens must not cause a request to the provider each time.
type gate struct {
	jwkset.Storage

	keys *Keys
}

// KeyRead finds a key.
func (g gate) KeyRead(ctx context.Context, id string) (jwkset.JWK, error) {
	key, err := g.Storage.KeyRead(ctx, id)
	if err == nil {
		return key, nil
	}
	k := g.keys
	k.mu.Lock()
	defer k.mu.Unlock()
	if !k.room.Allow() {
		if key, err = k.known.KeyRead(ctx, id); err != nil && k.failed.Load() {
			err = ErrNoKeys
		}
		return key, err
	}
	k.failed.Store(false)
	key, err = k.fetching.KeyRead(context.WithoutCancel(ctx), id) // Other requests wait for this fetch, so it outlives its own request.
	if err != nil && k.failed.Load() {
		err = ErrNoKeys
	}
	return key, err
}

// keepTLS refuses a redirect from TLS to plain HTTP, and a redirect without TLS to another machine. An attacker who can
// change the keys on their way could sign tokens for any caller.
func keepTLS(next *http.Request, before []*http.Request) error {
	switch {
	case len(before) == mostRedirects:
		return errors.New("too many redirects")
	case next.URL.Scheme != "https" && (before[0].URL.Scheme == "https" || !isLoopback(next.URL.Hostname())):
		return errors.New("the redirect leads to an address without TLS")
	}
	return nil
}

// limited cuts off answers that are far longer than a set of keys.
type limited struct{ http.RoundTripper }

// RoundTrip sends the request.
func (l limited) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := l.RoundTripper.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	resp.Body = struct {
		io.Reader
		io.Closer
	}{io.LimitReader(resp.Body, maxKeysBytes), resp.Body}
	return resp, nil
}
