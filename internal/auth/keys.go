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
	keysEvery    = 15 * time.Minute // the keys are fetched so often anyway
	keysUnknown  = 10 * time.Second // and at most so often for keys that are not known
	keysTimeout  = 5 * time.Second
	maxKeysBytes = 1 << 20

	mostRedirects = 5
)

// Keys are the public keys that an identity provider shows at a URL (JWKS). They are fetched again all the time, and when a token names one that
// is not known. While the provider is out of reach, those that are known go on being good.
type Keys struct {
	functions keyfunc.Keyfunc
	known     jwkset.Storage
	fetching  jwkset.Storage // as known, and fetches what it does not know

	mu     sync.Mutex // of who fetches: others wait for what comes of it
	room   *rate.Limiter
	failed atomic.Bool // the last time they were fetched
}

// KeysOptions are what a test may want otherwise; zero values stand for what is usual.
type KeysOptions struct {
	Unknown time.Duration // the least time between fetches for keys that are not known
	Client  *http.Client
}

// NewKeys fetches the keys for the first time, and goes on until the context ends. A provider that is out of reach does not stop it.
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
		log.LogAttrs(ctx, slog.LevelWarn, "the keys of the identity provider are out of reach", slog.String("url", url), slog.Any("error", err))
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

// keyfunc finds the key that a token names.
func (k *Keys) keyfunc(ctx context.Context) jwt.Keyfunc {
	find := k.functions.KeyfuncCtx(ctx)
	return func(t *jwt.Token) (any, error) {
		if _, named := t.Header[jwkset.HeaderKID]; !named {
			return nil, errors.New("the token names no key")
		}
		return find(t)
	}
}

// gate is the keys as the library sees them. A key that is not known is fetched, where that was not done just before: who makes up keys does
// not make the provider be asked each time.
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
	key, err = k.fetching.KeyRead(context.WithoutCancel(ctx), id) // what comes of it is for all who wait
	if err != nil && k.failed.Load() {
		err = ErrNoKeys
	}
	return key, err
}

// keepTLS follows no redirect that leads out of TLS, nor one without it away from this machine: who can change the keys on their way can let
// anybody in.
func keepTLS(next *http.Request, before []*http.Request) error {
	switch {
	case len(before) == mostRedirects:
		return errors.New("too many redirects")
	case next.URL.Scheme != "https" && (before[0].URL.Scheme == "https" || !isLoopback(next.URL.Hostname())):
		return errors.New("the redirect leads to an address without TLS")
	}
	return nil
}

// limited cuts answers that are far longer than keys are.
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
