package config

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"time"

	"tallyman/internal/auth"
	"tallyman/internal/settings"
	"tallyman/rules/strictyaml"
)

// The codes of problems of the section auth.
const (
	CodeAuth     = "bad_auth" // Settings that contradict each other, or that are not safe.
	CodeAuthNone = "auth_none_not_loopback"
	CodeListen   = "bad_listen_address"
)

// AuthMode says how callers prove who they are.
type AuthMode string

// The modes.
const (
	AuthNone  AuthMode = "none"  // No authentication. Allowed on a loopback address only.
	AuthToken AuthMode = "token" // API tokens, and JWTs where they are configured.
)

// Auth says who may call the API.
type Auth struct {
	Mode AuthMode `yaml:"mode" enum:"none,token" doc:"none: everybody who reaches the address may do everything; accepted on a loopback address only. token: requests carry an API token or a JWT."`
	JWT  *JWT     `yaml:"jwt" doc:"JWTs of an identity provider, with mode token. Exactly one of jwks, public_key and secret is needed."` // nil = none are taken
}

// JWT says which JWTs are accepted, and how their callers are named. One of Secret, PublicKey and JWKS is set.
type JWT struct {
	JWKS      string        `yaml:"jwks" doc:"RS256: the https address where the provider shows its keys. New keys are fetched as they appear."`
	PublicKey settings.File `yaml:"public_key" doc:"RS256: one key in a PEM file."`
	Secret    Secret        `yaml:"secret" doc:"HS256: a secret that the issuer has, too."`

	Audience   string        `yaml:"audience" doc:"Needed. The token's aud must name this audience."`
	Issuer     string        `yaml:"issuer" doc:"The token's iss must be this issuer. Without it any issuer is accepted."`
	Leeway     time.Duration `yaml:"leeway" max:"5m" doc:"How far the clocks of the issuer and of the node may differ."`
	Claims     Claims        `yaml:"claims" doc:"Which claims say who the caller is. Dots lead inside, as in realm_access.roles."`
	Access     []auth.Role   `yaml:"access" enum:"client,service,producer,worker,viewer,operator,admin" doc:"Roles in Tallyman of a caller whose token names none."`
	Warehouses []string      `yaml:"warehouses" doc:"Warehouses of a caller whose token names none; \"*\" = all."`
}

// Notes implements strictyaml.Noter.
func (j *JWT) Notes() map[string]strictyaml.Note {
	return map[string]strictyaml.Note{"secret": {Takes: fmt.Sprintf("%s; at least %d bytes", j.Secret.Takes(), leastHMACSecret)}}
}

// Claims are the names of the claims that describe the caller.
type Claims struct {
	Subject    string `yaml:"subject" doc:"The claim with the user: ann stands for user:ann."`
	Roles      string `yaml:"roles" doc:"The claim with the subscriber's roles: keeper stands for role:keeper."`
	Warehouses string `yaml:"warehouses" doc:"The claim with the warehouses."`
	Access     string `yaml:"access" doc:"The claim with the roles in Tallyman. Without a name no claim is looked at."`
}

// SetDefaults sets the defaults of the section.
func (j *JWT) SetDefaults() {
	*j = JWT{
		Leeway: 30 * time.Second, Access: []auth.Role{auth.Client},
		Claims: Claims{Subject: "sub", Roles: "roles", Warehouses: "warehouses"},
	}
}

const leastHMACSecret = 32 // Bytes. RFC 7518 requires as many for HS256.

// Check implements strictyaml.Checker.
func (j *JWT) Check(at settings.Section) {
	secret, isOpen := at.In("secret"), settings.IsOpen(at.In("secret"))
	given := 0
	for _, has := range []bool{j.Secret.Reveal() != "" || isOpen, j.PublicKey != "", j.JWKS != ""} {
		if has {
			given++
		}
	}
	if given != 1 {
		at.FailName(CodeAuth, "auth.jwt takes one of secret (HS256), public_key (RS256) and jwks (RS256)",
			"two kinds of keys side by side let a token choose how it is checked")
	}
	if n := len(j.Secret.Reveal()); n > 0 && n < leastHMACSecret && !isOpen {
		secret.Fail(CodeAuth, fmt.Sprintf("auth.jwt.secret is shorter than %d bytes", leastHMACSecret), "openssl rand -base64 48 makes a good one")
	}
	if j.JWKS != "" && !isSafeURL(j.JWKS) {
		at.In("jwks").Fail(CodeURL, "auth.jwt.jwks is no https address", "an attacker who can change the keys on their way can let anybody in; http is accepted for this machine only")
	}
	if j.Audience == "" {
		at.Missing("audience")
	}
	if j.Claims.Subject == "" {
		at.In("claims").In("subject").Fail(strictyaml.CodeMissing, "auth.jwt.claims.subject is empty", "sub, for example")
	}
	if len(j.Access) == 0 {
		at.In("access").Fail(strictyaml.CodeMissing, "auth.jwt.access is empty", "[client], for example")
	}
	for i, w := range j.Warehouses {
		if w != auth.AllWarehouses {
			checkWarehouse(at.Item("warehouses", i), w)
		}
	}
	slices.Sort(j.Access)
	j.Access = slices.Compact(j.Access)
}

// isSafeURL tells whether nobody on the network can change the content that a client fetches from the URL.
func isSafeURL(s string) bool {
	u, err := url.Parse(s)
	if err != nil || u.Host == "" || u.User != nil {
		return false
	}
	ip, err := netip.ParseAddr(u.Hostname())
	local := u.Hostname() == "localhost" || err == nil && ip.IsLoopback()
	return u.Scheme == "https" || u.Scheme == "http" && local
}

// checkAuth refuses an API without authentication that other machines can reach.
func (c *Config) checkAuth(at settings.Section) {
	listen := at.In("http").In("listen")
	if _, port, err := net.SplitHostPort(c.HTTP.Listen); err != nil || !settings.IsPort(port) {
		listen.Fail(CodeListen, fmt.Sprintf("http.listen %q is not host:port", c.HTTP.Listen), `for example "127.0.0.1:8080"`)
		return
	}
	if c.Auth.Mode != AuthNone {
		return
	}
	if errors.Is(auth.CheckListen(c.HTTP.Listen), auth.ErrNotLoopback) {
		listen.Fail(CodeAuthNone, fmt.Sprintf("http.listen %q can be reached from outside, and auth.mode none lets everyone in", c.HTTP.Listen),
			`set auth.mode to token, or listen on a loopback address, such as "127.0.0.1:8080"`)
	}
	if c.Auth.JWT != nil {
		at.In("auth").In("jwt").FailName(CodeAuth, "auth.jwt has no effect with auth.mode none", "set auth.mode to token: it takes API tokens and JWTs")
	}
}
