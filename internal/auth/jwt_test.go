package auth

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/google/go-cmp/cmp"

	"tallyman/internal/ledger"
)

const hmacSecret = "0123456789abcdef0123456789abcdef"

var (
	goodKey = sync.OnceValue(newKey)
	evilKey = sync.OnceValue(newKey)
)

func newKey() *rsa.PrivateKey {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		panic(err)
	}
	return key
}

// usual are the options of most tests, for one of the keys.
func usual(o JWTOptions) JWTOptions {
	o.Audience, o.Issuer, o.Leeway = "tallyman", "https://id.example.com", 30*time.Second
	o.Claims = Claims{Subject: "sub", Roles: "realm.roles", Warehouses: "warehouses", Access: "https://tallyman.example/access"}
	o.Access = []Role{Client}
	return o
}

// claims are good ones, with the changes; nil takes one out.
func claims(changes map[string]any) jwt.MapClaims {
	c := jwt.MapClaims{
		"sub": "ann", "aud": []string{"other", "tallyman"}, "iss": "https://id.example.com", "exp": time.Now().Add(time.Hour).Unix(),
		"warehouses": []any{119240, "119241"}, "realm": map[string]any{"roles": []string{"keeper", "/group/with/slashes"}},
	}
	for name, v := range changes {
		if c[name] = v; v == nil {
			delete(c, name)
		}
	}
	return c
}

func sign(t *testing.T, method jwt.SigningMethod, key any, header map[string]any, c jwt.MapClaims) string {
	t.Helper()
	token := jwt.NewWithClaims(method, c)
	maps.Copy(token.Header, header)
	text, err := token.SignedString(key)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func publicPEM(t *testing.T, key *rsa.PrivateKey) []byte {
	t.Helper()
	der, err := x509.MarshalPKIXPublicKey(&key.PublicKey)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})
}

func TestWhoAJWTIsFrom(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		changes map[string]any
		want    Identity
	}{
		"usual": {nil, Identity{Subject: "user:ann", Access: []Role{Client}, Subscribers: []string{"user:ann", "role:keeper"}, Warehouses: []string{"119240", "119241"}}},
		"a system": {
			map[string]any{"sub": "wms", "https://tallyman.example/access": "service producer offline_access", "warehouses": "119240 119241", "realm": nil},
			Identity{Subject: "user:wms", Access: []Role{Service, Producer}, Subscribers: []string{"user:wms"}, Warehouses: []string{"119240", "119241"}},
		},
		"no warehouses":     {map[string]any{"warehouses": nil}, Identity{Subject: "user:ann", Access: []Role{Client}, Subscribers: []string{"user:ann", "role:keeper"}}},
		"one warehouse":     {map[string]any{"warehouses": 7}, Identity{Subject: "user:ann", Access: []Role{Client}, Subscribers: []string{"user:ann", "role:keeper"}, Warehouses: []string{"7"}}},
		"strange words":     {map[string]any{"warehouses": []any{"a b", true, "ok"}, "realm": map[string]any{"roles": []any{"role:keeper", "keeper", 3, nil}}}, Identity{Subject: "user:ann", Access: []Role{Client}, Subscribers: []string{"user:ann", "role:keeper", "role:3"}, Warehouses: []string{"ok"}}},
		"not our access":    {map[string]any{"https://tallyman.example/access": []string{"root", "ADMIN"}}, Identity{Subject: "user:ann", Access: []Role{Client}, Subscribers: []string{"user:ann", "role:keeper"}, Warehouses: []string{"119240", "119241"}}},
		"dots in the claim": {map[string]any{"realm.roles": []string{"picker"}}, Identity{Subject: "user:ann", Access: []Role{Client}, Subscribers: []string{"user:ann", "role:picker"}, Warehouses: []string{"119240", "119241"}}},
	} {
		j := NewJWT(usual(JWTOptions{Secret: []byte(hmacSecret)}))
		who, err := j.identify(t.Context(), sign(t, jwt.SigningMethodHS256, []byte(hmacSecret), nil, claims(c.changes)))
		if err != nil || who.Ended == nil || who.Expires.IsZero() {
			t.Errorf("%s: %+v, %v", name, who, err)
		}
		who.Ended, who.Expires = nil, time.Time{}
		c.want.Via = ledger.ViaJWT
		if diff := cmp.Diff(c.want, who); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// TestAttacks has tokens that nobody may get in with, for each kind of key.
func TestAttacks(t *testing.T) {
	t.Parallel()
	good, evil := goodKey(), evilKey()
	rs := NewJWT(usual(JWTOptions{PublicKey: &good.PublicKey}))
	hs := NewJWT(usual(JWTOptions{Secret: []byte(hmacSecret)}))
	encode := base64.RawURLEncoding.EncodeToString
	unsigned := sign(t, jwt.SigningMethodNone, jwt.UnsafeAllowNoneSignatureType, nil, claims(nil))
	signed := sign(t, jwt.SigningMethodRS256, good, nil, claims(nil))
	parts := strings.Split(signed, ".")
	other := strings.Split(sign(t, jwt.SigningMethodRS256, good, nil, claims(map[string]any{"sub": "eve"})), ".")
	for name, c := range map[string]struct {
		jwt  *JWT
		text string
		want error
	}{
		"good":                        {rs, signed, nil},
		"good, HS":                    {hs, sign(t, jwt.SigningMethodHS256, []byte(hmacSecret), nil, claims(nil)), nil},
		"alg none":                    {rs, unsigned, ErrBadToken},
		"alg none, HS":                {hs, unsigned, ErrBadToken},
		"alg None, with a signature":  {rs, encode([]byte(`{"alg":"None"}`)) + "." + parts[1] + "." + parts[2], ErrBadToken},
		"alg none, signature dropped": {rs, encode([]byte(`{"alg":"none"}`)) + "." + parts[1] + ".", ErrBadToken},
		"signature dropped":           {rs, parts[0] + "." + parts[1] + ".", ErrBadToken},
		"HS with the public key, PEM": {rs, sign(t, jwt.SigningMethodHS256, publicPEM(t, good), nil, claims(nil)), ErrBadToken},
		"HS with the public key, DER": {rs, sign(t, jwt.SigningMethodHS256, x509.MarshalPKCS1PublicKey(&good.PublicKey), nil, claims(nil)), ErrBadToken},
		"HS with the empty secret":    {rs, sign(t, jwt.SigningMethodHS256, []byte{}, nil, claims(nil)), ErrBadToken},
		"RS where HS is set up":       {hs, signed, ErrBadToken},
		"HS384":                       {hs, sign(t, jwt.SigningMethodHS384, []byte(hmacSecret), nil, claims(nil)), ErrBadToken},
		"PS256":                       {rs, sign(t, jwt.SigningMethodPS256, good, nil, claims(nil)), ErrBadToken},
		"another key":                 {rs, sign(t, jwt.SigningMethodRS256, evil, nil, claims(nil)), ErrBadToken},
		"a key of its own":            {rs, sign(t, jwt.SigningMethodRS256, evil, map[string]any{"jwk": map[string]any{"kty": "RSA"}, "jku": "https://evil.example/keys"}, claims(nil)), ErrBadToken},
		"claims of another token":     {rs, parts[0] + "." + other[1] + "." + parts[2], ErrBadToken},
		"crit":                        {rs, sign(t, jwt.SigningMethodRS256, good, map[string]any{"crit": []string{"b64"}}, claims(nil)), ErrBadToken},
		"wrong audience":              {rs, sign(t, jwt.SigningMethodRS256, good, nil, claims(map[string]any{"aud": "another"})), ErrBadToken},
		"no audience":                 {rs, sign(t, jwt.SigningMethodRS256, good, nil, claims(map[string]any{"aud": nil})), ErrBadToken},
		"wrong issuer":                {rs, sign(t, jwt.SigningMethodRS256, good, nil, claims(map[string]any{"iss": "https://id.example.com.evil"})), ErrBadToken},
		"no issuer":                   {rs, sign(t, jwt.SigningMethodRS256, good, nil, claims(map[string]any{"iss": nil})), ErrBadToken},
		"expired":                     {rs, sign(t, jwt.SigningMethodRS256, good, nil, claims(map[string]any{"exp": time.Now().Add(-time.Minute).Unix()})), ErrExpired},
		"expired, wrong audience":     {rs, sign(t, jwt.SigningMethodRS256, good, nil, claims(map[string]any{"exp": 1, "aud": "x"})), ErrBadToken},
		"expired, another key":        {rs, sign(t, jwt.SigningMethodRS256, evil, nil, claims(map[string]any{"exp": 1})), ErrBadToken},
		"within the leeway":           {rs, sign(t, jwt.SigningMethodRS256, good, nil, claims(map[string]any{"exp": time.Now().Add(-10 * time.Second).Unix()})), nil},
		"no exp":                      {rs, sign(t, jwt.SigningMethodRS256, good, nil, claims(map[string]any{"exp": nil})), ErrBadToken},
		"exp that is no number":       {rs, sign(t, jwt.SigningMethodRS256, good, nil, claims(map[string]any{"exp": "tomorrow"})), ErrBadToken},
		"nbf":                         {rs, sign(t, jwt.SigningMethodRS256, good, nil, claims(map[string]any{"nbf": time.Now().Add(time.Minute).Unix()})), ErrBadToken},
		"no subject":                  {rs, sign(t, jwt.SigningMethodRS256, good, nil, claims(map[string]any{"sub": nil})), ErrBadToken},
		"two subjects":                {rs, sign(t, jwt.SigningMethodRS256, good, nil, claims(map[string]any{"sub": "ann bob"})), ErrBadToken},
		"a subject with a path":       {rs, sign(t, jwt.SigningMethodRS256, good, nil, claims(map[string]any{"sub": "../ann"})), ErrBadToken},
		"a role as subject":           {rs, sign(t, jwt.SigningMethodRS256, good, nil, claims(map[string]any{"sub": "role:keeper"})), ErrBadToken},
		"rubbish":                     {rs, "a.b.c", ErrBadToken},
		"a subject twice":             {hs, signText(t, `{"sub":"ann","sub":"eve","aud":"tallyman","iss":"https://id.example.com","exp":4000000000}`), ErrBadToken},
		"a role twice, deep inside":   {hs, signText(t, `{"sub":"ann","realm":{"roles":[],"roles":["x"]},"aud":"tallyman","iss":"https://id.example.com","exp":4000000000}`), ErrBadToken},
		"claims as text":              {hs, signText(t, `{"sub":"ann","Sub":"eve","aud":"tallyman","iss":"https://id.example.com","exp":4000000000,"warehouses":["1"]}`), nil},
	} {
		who, err := c.jwt.identify(t.Context(), c.text)
		if !errors.Is(err, c.want) || (err == nil) != (c.want == nil) || (err != nil && who.Subject != "") {
			t.Errorf("%s: %+v, %v; want %v", name, who, err, c.want)
		}
	}
}

// TestJWTsAreUsers has subjects in the form of every kind of principal that the program knows, and of some that it does not. None becomes that
// principal, whatever the claim is called.
func TestJWTsAreUsers(t *testing.T) {
	t.Parallel()
	for _, claim := range []string{"sub", "preferred_username"} {
		o := usual(JWTOptions{Secret: []byte(hmacSecret)})
		o.Claims.Subject = claim
		j := NewJWT(o)
		for _, subject := range []string{
			"service:wms", "Service:wms", "service:", "user:ann", "user:service:wms", "role:keeper", "local:root", "node:one", "shadow:rule", "anonymous:", ":ann", "ann:", "a:b",
			"service\u003awms", "service：wms", "*", "",
		} {
			who, err := j.identify(t.Context(), sign(t, jwt.SigningMethodHS256, []byte(hmacSecret), nil, claims(map[string]any{claim: subject})))
			if !errors.Is(err, ErrBadToken) || who.Subject != "" || len(who.Subscribers) > 0 {
				t.Errorf("%s %q: %+v, %v", claim, subject, who, err)
			}
		}
		for _, subject := range []string{"anonymous", "service", "root", "service.wms", "ann@example.com"} { // a user of that name, and nothing else
			who, err := j.identify(t.Context(), sign(t, jwt.SigningMethodHS256, []byte(hmacSecret), nil, claims(map[string]any{claim: subject})))
			if err != nil || who.Subject != "user:"+subject || who.User() != who.Subject {
				t.Errorf("%s %q: %+v, %v", claim, subject, who, err)
			}
		}
	}
}

// signText signs claims as they are written.
func signText(t *testing.T, claims string) string {
	t.Helper()
	encode := base64.RawURLEncoding.EncodeToString
	text := encode([]byte(`{"alg":"HS256","typ":"JWT"}`)) + "." + encode([]byte(claims))
	signature, err := jwt.SigningMethodHS256.Sign(text, []byte(hmacSecret))
	if err != nil {
		t.Fatal(err)
	}
	return text + "." + encode(signature)
}

func TestJWTsEnd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		j := NewJWT(usual(JWTOptions{Secret: []byte(hmacSecret)}))
		text := sign(t, jwt.SigningMethodHS256, []byte(hmacSecret), nil, claims(nil))
		first, err := j.identify(t.Context(), text)
		second, err2 := j.identify(t.Context(), text)
		if err != nil || err2 != nil || first.Ended != second.Ended {
			t.Fatal(err, err2)
		}
		time.Sleep(time.Hour + 29*time.Second) //nolint:forbidigo // inside a bubble
		synctest.Wait()
		if first.Over() {
			t.Error("it ends before its leeway")
		}
		time.Sleep(time.Second) //nolint:forbidigo // inside a bubble
		synctest.Wait()
		if !first.Over() || !errors.Is(first.Why(), ErrExpired) {
			t.Error("what is open under it goes on")
		}
		if _, err := j.identify(t.Context(), text); !errors.Is(err, ErrExpired) {
			t.Error(err)
		}
	})
}

// TestClaimsGiveNoMoreThanIsSaid has claims of all shapes.
func TestClaimsGiveNoMoreThanIsSaid(t *testing.T) {
	t.Parallel()
	o := usual(JWTOptions{Secret: []byte(hmacSecret)})
	o.Claims.Access = ""
	j := NewJWT(o)
	who, err := j.identify(t.Context(), sign(t, jwt.SigningMethodHS256, []byte(hmacSecret), nil, claims(map[string]any{"access": "admin", "": "admin"})))
	if err != nil || !slices.Equal(who.Access, []Role{Client}) {
		t.Errorf("%+v, %v", who, err)
	}
}
