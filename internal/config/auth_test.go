package config

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tallyman/internal/auth"
	"tallyman/internal/settings"
)

const goodSecret = "0123456789abcdef0123456789abcdef"

func TestTokensAndJWTs(t *testing.T) {
	t.Parallel()
	file := write(t, `
http: {listen: "0.0.0.0:8080"}
auth:
  mode: token
  jwt:
    public_key: provider.pem
    audience: tallyman
    issuer: https://id.example.com
    leeway: 1m
    claims: {subject: email, roles: realm_access.roles, warehouses: sites, access: tallyman}
    access: [viewer, client]
    warehouses: ["119240"]
`)
	c, err := Load(Options{Types: types(), File: file})
	if err != nil {
		t.Fatal(err)
	}
	want := Auth{Mode: AuthToken, JWT: &JWT{
		PublicKey: settings.File(filepath.Join(filepath.Dir(file), "provider.pem")), Audience: "tallyman", Issuer: "https://id.example.com", Leeway: time.Minute,
		Claims: Claims{Subject: "email", Roles: "realm_access.roles", Warehouses: "sites", Access: "tallyman"},
		Access: []auth.Role{auth.Client, auth.Viewer}, Warehouses: []string{"119240"},
	}}
	if diff := cmp.Diff(want, c.Auth, cmp.Comparer(func(a, b Secret) bool { return a.Reveal() == b.Reveal() })); diff != "" {
		t.Error(diff)
	}
	c, err = Load(Options{Types: types(), File: write(t, "auth: {mode: token, jwt: {audience: a, secret: "+goodSecret+"}}")})
	if err != nil {
		t.Fatal(err)
	}
	want = Auth{Mode: AuthToken, JWT: &JWT{
		Secret: NewSecret(goodSecret), Audience: "a", Leeway: 30 * time.Second,
		Claims: Claims{Subject: "sub", Roles: "roles", Warehouses: "warehouses"}, Access: []auth.Role{auth.Client},
	}}
	if diff := cmp.Diff(want, c.Auth, cmp.Comparer(func(a, b Secret) bool { return a.Reveal() == b.Reveal() })); diff != "" {
		t.Error(diff)
	}
}

func TestBadAuth(t *testing.T) {
	t.Parallel()
	jwt := func(text string) string { return "auth: {mode: token, jwt: {" + text + "}}" }
	checkRefusals(t, []refused{
		{name: "without a mode", text: "auth: {jwt: {audience: a, secret: " + goodSecret + "}}", want: []string{"bad_auth: auth.jwt has no effect with auth.mode none"}},
		{name: "no key", text: jwt("audience: a"), want: []string{"bad_auth: auth.jwt takes one of"}},
		{name: "two keys", text: jwt("audience: a, jwks: 'https://id.example.com', secret: " + goodSecret), want: []string{"bad_auth: auth.jwt takes one of"}},
		{name: "short", text: jwt("audience: a, secret: short"), want: []string{"bad_auth: auth.jwt.secret is shorter than 32 bytes"}},
		{name: "no audience", text: jwt("secret: " + goodSecret), want: []string{"missing_field: auth.jwt.audience is missing"}},
		{name: "plain http", text: jwt("audience: a, jwks: 'http://id.example.com/keys'"), want: []string{"bad_url: auth.jwt.jwks is no https address"}},
		{name: "credentials", text: jwt("audience: a, jwks: 'https://u:p@id.example.com/keys'"), want: []string{"bad_url: auth.jwt.jwks"}},
		{name: "leeway", text: jwt("audience: a, leeway: 1h, secret: " + goodSecret), want: []string{"out_of_range: auth.jwt.leeway is 1h, at most 5m is possible"}},
		{name: "access", text: jwt("audience: a, access: [root], secret: " + goodSecret), want: []string{`unknown_value: auth.jwt.access.0 cannot be "root"`}},
		{name: "no access", text: jwt("audience: a, access: [], secret: " + goodSecret), want: []string{"missing_field: auth.jwt.access is empty"}},
		{name: "warehouse", text: jwt("audience: a, warehouses: ['W 1'], secret: " + goodSecret), want: []string{`bad_name: "W 1" cannot be the name of a warehouse`}},
		{name: "no subject", text: jwt("audience: a, claims: {subject: ''}, secret: " + goodSecret), want: []string{"missing_field: auth.jwt.claims.subject is empty"}},
		{name: "unknown claim", text: jwt("audience: a, claims: {role: r}, secret: " + goodSecret), want: []string{"unknown_field"}},
	})
	for _, url := range []string{"https://id.example.com/keys", "http://127.0.0.1:9/keys", "http://localhost/keys", "http://[::1]:9/keys"} {
		if !isSafeURL(url) {
			t.Errorf("%s is refused", url)
		}
	}
	for _, url := range []string{"", "ftp://x", "http://10.0.0.1/keys", "http://localhost.evil.example/keys", "https:///keys", "https://"} {
		if isSafeURL(url) {
			t.Errorf("%s is taken", url)
		}
	}
}
