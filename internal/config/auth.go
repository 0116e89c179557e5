package config

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"time"

	"tallyman/internal/auth"
	"tallyman/rules/strictyaml"
)

// The codes of what auth may not say.
const (
	CodeAuth = "bad_auth" // things that do not go together, or are not safe
)

// AuthMode says how callers prove who they are.
type AuthMode string

// The modes.
const (
	AuthNone  AuthMode = "none"  // not at all; accepted on a loopback address only
	AuthToken AuthMode = "token" // API tokens, and JWTs where they are set up
)

// Auth says who may call.
type Auth struct {
	Mode AuthMode
	JWT  *JWT // nil = none are taken
}

// JWT says which JWTs are taken, and who they are from. One of Secret, PublicKey and JWKS is set.
type JWT struct {
	Secret    Secret // HS256
	PublicKey string // RS256: a PEM file, absolute
	JWKS      string // RS256: a URL

	Audience   string
	Issuer     string // "" = any
	Leeway     time.Duration
	Claims     Claims
	Access     []auth.Role // of tokens that say nothing of it
	Warehouses []string    // likewise
}

// Claims are the names of the claims that say who a JWT is from.
type Claims struct{ Subject, Roles, Warehouses, Access string }

const (
	defaultLeeway   = 30 * time.Second
	mostLeeway      = 5 * time.Minute
	leastHMACSecret = 32 // bytes, as RFC 7518 asks of HS256
)

func (a *Auth) field() field {
	return section(map[string]field{"mode": oneOf(&a.Mode, AuthNone, AuthToken), "jwt": a.jwt})
}

func (a *Auth) jwt(d *decoder, at path, v any) {
	j := &JWT{
		Leeway: defaultLeeway, Access: []auth.Role{auth.Client},
		Claims: Claims{Subject: "sub", Roles: "roles", Warehouses: "warehouses"},
	}
	a.JWT = j
	section(map[string]field{
		"secret": hidden(&j.Secret), "public_key": file(&j.PublicKey), "jwks": text(&j.JWKS),
		"audience": text(&j.Audience), "issuer": text(&j.Issuer), "leeway": durationUpTo(&j.Leeway, 0, mostLeeway),
		"claims": section(map[string]field{
			"subject": text(&j.Claims.Subject), "roles": text(&j.Claims.Roles), "warehouses": text(&j.Claims.Warehouses), "access": text(&j.Claims.Access),
		}),
		"access": accessRoles(&j.Access), "warehouses": texts(&j.Warehouses),
	})(d, at, v)
	if !d.bad(at) {
		d.checkJWT(at, j)
	}
}

// accessRoles reads a list of what callers may do.
func accessRoles(dst *[]auth.Role) field {
	return func(d *decoder, at path, v any) {
		*dst = nil
		items(func() field {
			return func(d *decoder, at path, v any) {
				var role auth.Role
				oneOf(&role, auth.Roles()...)(d, at, v)
				*dst = append(*dst, role)
			}
		})(d, at, v)
	}
}

func (d *decoder) checkJWT(at path, j *JWT) {
	given := 0
	for _, has := range []bool{j.Secret.Reveal() != "" || d.open.has(at.to("secret")), j.PublicKey != "", j.JWKS != ""} {
		if has {
			given++
		}
	}
	if given != 1 {
		d.failName(at, CodeAuth, "auth.jwt takes one of secret (HS256), public_key (RS256) and jwks (RS256)",
			"two kinds of keys side by side let a token choose how it is checked")
	}
	if n := len(j.Secret.Reveal()); n > 0 && n < leastHMACSecret && !d.open.has(at.to("secret")) {
		d.fail(at.to("secret"), CodeAuth, fmt.Sprintf("auth.jwt.secret is shorter than %d bytes", leastHMACSecret), "openssl rand -base64 48 makes a good one")
	}
	if j.JWKS != "" && !isSafeURL(j.JWKS) {
		d.fail(at.to("jwks"), CodeURL, "auth.jwt.jwks is no https address", "who can change the keys on their way can let anybody in; http is accepted of this machine only")
	}
	if j.Audience == "" {
		d.missing(at, "audience")
	}
	if j.Claims.Subject == "" {
		d.fail(at.to("claims").to("subject"), strictyaml.CodeMissing, "auth.jwt.claims.subject is empty", "sub, for example")
	}
	if len(j.Access) == 0 {
		d.fail(at.to("access"), strictyaml.CodeMissing, "auth.jwt.access is empty", "[client], for example")
	}
	for i, w := range j.Warehouses {
		if w != auth.AllWarehouses && !namePattern.MatchString(w) {
			d.fail(at.to("warehouses").to(strconv.Itoa(i)), CodeName, fmt.Sprintf("%q cannot be the name of a warehouse", w), "letters, digits, _ . - or * for all")
		}
	}
	slices.Sort(j.Access)
	j.Access = slices.Compact(j.Access)
}

// isSafeURL tells whether nobody can change on the way what is fetched from there.
func isSafeURL(s string) bool {
	u, err := url.Parse(s)
	if err != nil || u.Host == "" || u.User != nil {
		return false
	}
	ip, err := netip.ParseAddr(u.Hostname())
	local := u.Hostname() == "localhost" || err == nil && ip.IsLoopback()
	return u.Scheme == "https" || u.Scheme == "http" && local
}

// checkAuth refuses to let strangers in: without authentication only this machine may call.
func (d *decoder) checkAuth(c *Config) {
	listen := path{"http", "listen"}
	if _, port, err := net.SplitHostPort(c.HTTP.Listen); err != nil || !isPort(port) {
		d.fail(listen, CodeListen, fmt.Sprintf("http.listen %q is not host:port", c.HTTP.Listen), `for example "127.0.0.1:8080"`)
		return
	}
	if c.Auth.Mode != AuthNone {
		return
	}
	if errors.Is(auth.CheckListen(c.HTTP.Listen), auth.ErrNotLoopback) {
		d.fail(listen, CodeAuthNone, fmt.Sprintf("http.listen %q can be reached from outside, and auth.mode none lets everyone in", c.HTTP.Listen),
			`set auth.mode to token, or listen on a loopback address, such as "127.0.0.1:8080"`)
	}
	if c.Auth.JWT != nil {
		d.failName(path{"auth", "jwt"}, CodeAuth, "auth.jwt means nothing with auth.mode none", "set auth.mode to token: it takes API tokens and JWTs")
	}
}
