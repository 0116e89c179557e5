package auth

import (
	"context"
	"crypto/rsa"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math/big"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
)

// provider is an identity provider: it shows keys, or fails.
type provider struct {
	*httptest.Server

	mu     sync.Mutex
	answer string // "" = 503
	asked  atomic.Int64
}

func newProvider(t *testing.T, keys ...string) *provider {
	t.Helper()
	p := &provider{}
	p.show(keys...)
	p.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		p.asked.Add(1)
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.answer == "" {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		fmt.Fprint(w, p.answer)
	}))
	t.Cleanup(p.Close)
	return p
}

// show changes the keys; without any the provider is down.
func (p *provider) show(keys ...string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.answer = ""
	if len(keys) > 0 {
		p.answer = `{"keys":[` + strings.Join(keys, ",") + `]}`
	}
}

// jwk is a public key as a provider shows it.
func jwk(id string, key *rsa.PrivateKey, more map[string]any) string {
	k := map[string]any{
		"kty": "RSA", "kid": id, "use": "sig", "alg": "RS256",
		"n": base64.RawURLEncoding.EncodeToString(key.N.Bytes()), "e": base64.RawURLEncoding.EncodeToString(big.NewInt(int64(key.E)).Bytes()),
	}
	maps.Copy(k, more)
	b, err := json.Marshal(k)
	if err != nil {
		panic(err)
	}
	return string(b)
}

// byKeys knows the JWTs of the provider. It asks it for unknown keys once in that time.
func byKeys(t *testing.T, p *provider, unknown time.Duration) *JWT {
	t.Helper()
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	t.Cleanup(cancel)
	client := &http.Client{Transport: limited{p.Client().Transport}}
	keys, err := NewKeys(ctx, p.URL, slog.New(slog.DiscardHandler), KeysOptions{Unknown: unknown, Client: client})
	if err != nil {
		t.Fatal(err)
	}
	return NewJWT(usual(JWTOptions{Keys: keys}))
}

// ofKey is a good token, signed with the key and naming that id.
func ofKey(t *testing.T, id string, key *rsa.PrivateKey) string {
	t.Helper()
	return sign(t, jwt.SigningMethodRS256, key, map[string]any{"kid": id}, claims(nil))
}

func isIdentified(t *testing.T, j *JWT, text string, want error) {
	t.Helper()
	if who, err := j.identify(t.Context(), text); !errors.Is(err, want) || (err == nil) != (want == nil) {
		t.Fatalf("%+v, %v; want %v", who, err, want)
	}
}

func TestKeysRotate(t *testing.T) {
	t.Parallel()
	p := newProvider(t, jwk("k1", goodKey(), nil))
	j := byKeys(t, p, time.Nanosecond)
	isIdentified(t, j, ofKey(t, "k1", goodKey()), nil)
	if n := p.asked.Load(); n != 1 {
		t.Errorf("the provider was asked %d times", n)
	}
	p.show(jwk("k1", goodKey(), nil), jwk("k2", evilKey(), nil)) // a new key, whose owner is as good
	isIdentified(t, j, ofKey(t, "k2", evilKey()), nil)
	isIdentified(t, j, ofKey(t, "k1", goodKey()), nil)
	isIdentified(t, j, ofKey(t, "k1", evilKey()), ErrBadToken)
	p.show(jwk("k3", evilKey(), nil)) // the old ones are gone for good
	isIdentified(t, j, ofKey(t, "k3", evilKey()), nil)
	isIdentified(t, j, ofKey(t, "k1", goodKey()), ErrBadToken)
	isIdentified(t, j, ofKey(t, "k2", evilKey()), ErrBadToken)
}

func TestMadeUpKeysDoNotMakeTheProviderBeAsked(t *testing.T) {
	t.Parallel()
	p := newProvider(t, jwk("k1", goodKey(), nil))
	j := byKeys(t, p, time.Hour)
	var wg sync.WaitGroup
	for i := range 50 {
		text := ofKey(t, fmt.Sprint("made-up-", i), evilKey())
		wg.Go(func() {
			if _, err := j.identify(t.Context(), text); !errors.Is(err, ErrBadToken) {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	isIdentified(t, j, ofKey(t, "k1", goodKey()), nil)
	if n := p.asked.Load(); n != 2 {
		t.Errorf("the provider was asked %d times; the first, and for the first key that was not known", n)
	}
}

// TestManyMeetANewKey: many requests with a new key wait for one fetch.
func TestManyMeetANewKey(t *testing.T) {
	t.Parallel()
	p := newProvider(t, jwk("k1", goodKey(), nil))
	j := byKeys(t, p, time.Hour)
	p.show(jwk("k2", evilKey(), nil))
	text := ofKey(t, "k2", evilKey())
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() {
			if _, err := j.identify(t.Context(), text); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if n := p.asked.Load(); n != 2 {
		t.Errorf("the provider was asked %d times", n)
	}
}

func TestAProviderThatIsDown(t *testing.T) {
	t.Parallel()
	p := newProvider(t)
	j := byKeys(t, p, time.Nanosecond)
	isIdentified(t, j, ofKey(t, "k1", goodKey()), ErrNoKeys)
	p.show(jwk("k1", goodKey(), nil)) // it comes up
	isIdentified(t, j, ofKey(t, "k1", goodKey()), nil)
	p.show() // and goes down: what is known is good
	isIdentified(t, j, ofKey(t, "k2", evilKey()), ErrNoKeys)
	isIdentified(t, j, ofKey(t, "k1", goodKey()), nil)
	p.mu.Lock()
	p.answer = `{"keys":[` + strings.Repeat(" ", maxKeysBytes) + `]}`
	p.mu.Unlock()
	isIdentified(t, j, ofKey(t, "k2", evilKey()), ErrNoKeys)
	isIdentified(t, j, ofKey(t, "k1", goodKey()), nil)
}

func TestKeysThatAreForSomethingElse(t *testing.T) {
	t.Parallel()
	secret := base64.RawURLEncoding.EncodeToString([]byte(hmacSecret))
	p := newProvider(t, jwk("k1", goodKey(), nil), jwk("enc", goodKey(), map[string]any{"use": "enc", "alg": "RSA-OAEP"}),
		jwk("ps", goodKey(), map[string]any{"alg": "PS256"}), `{"kty":"oct","kid":"hs","k":"`+secret+`"}`, `{"kty":"strange","kid":"s"}`)
	j := byKeys(t, p, time.Nanosecond)
	isIdentified(t, j, ofKey(t, "k1", goodKey()), nil)
	isIdentified(t, j, ofKey(t, "enc", goodKey()), ErrBadToken)
	isIdentified(t, j, ofKey(t, "ps", goodKey()), ErrBadToken)
	isIdentified(t, j, sign(t, jwt.SigningMethodRS256, goodKey(), nil, claims(nil)), ErrBadToken) // names no key
	isIdentified(t, j, sign(t, jwt.SigningMethodHS256, []byte(hmacSecret), map[string]any{"kid": "hs"}, claims(nil)), ErrBadToken)
	isIdentified(t, j, sign(t, jwt.SigningMethodHS256, publicPEM(t, goodKey()), map[string]any{"kid": "k1"}, claims(nil)), ErrBadToken)
	isIdentified(t, j, sign(t, jwt.SigningMethodRS256, goodKey(), map[string]any{"kid": 7}, claims(nil)), ErrBadToken)
}

// TestKeysComeByNoWayThatOthersCanChange has a provider lead to keys that come without TLS.
func TestKeysComeByNoWayThatOthersCanChange(t *testing.T) {
	t.Parallel()
	plain := newProvider(t, jwk("k1", goodKey(), nil))
	secure := httptest.NewTLSServer(http.RedirectHandler(plain.URL, http.StatusFound))
	t.Cleanup(secure.Close)
	j := byKeys(t, &provider{Server: secure}, time.Nanosecond)
	isIdentified(t, j, ofKey(t, "k1", goodKey()), ErrNoKeys)
	if n := plain.asked.Load(); n != 0 {
		t.Errorf("it was asked %d times", n)
	}
	isIdentified(t, byKeys(t, plain, time.Nanosecond), ofKey(t, "k1", goodKey()), nil) // of this machine
	for _, c := range []struct {
		from, to string
		taken    bool
	}{
		{"https://id.example.com/keys", "https://keys.example.com", true},
		{"https://id.example.com/keys", "http://127.0.0.1/keys", false},
		{"http://localhost/keys", "http://127.0.0.1/keys", true},
		{"http://localhost/keys", "http://10.0.0.7/keys", false},
	} {
		from, to := httptest.NewRequest(http.MethodGet, c.from, http.NoBody), httptest.NewRequest(http.MethodGet, c.to, http.NoBody)
		if err := keepTLS(to, []*http.Request{from}); (err == nil) != c.taken {
			t.Errorf("from %s to %s: %v", c.from, c.to, err)
		}
	}
}
