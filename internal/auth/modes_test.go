package auth

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func TestCheckListen(t *testing.T) {
	t.Parallel()
	for addr, ok := range map[string]bool{
		"127.0.0.1:8080":          true,
		"127.8.9.1:0":             true,
		"localhost:8080":          true,
		"LocalHost.:8080":         true,
		"[::1]:8080":              true,
		"[::ffff:127.0.0.1]:8080": true,
		":8080":                   false,
		"0.0.0.0:8080":            false,
		"[::]:8080":               false,
		"192.168.1.4:8080":        false,
		"wms.example.com:8080":    false,
		"localhost.example:8080":  false,
	} {
		err := CheckListen(addr)
		if ok && err != nil {
			t.Errorf("CheckListen(%q) = %v, want nil", addr, err)
		}
		if !ok && !errors.Is(err, ErrNotLoopback) {
			t.Errorf("CheckListen(%q) = %v, want ErrNotLoopback", addr, err)
		}
	}
	if err := CheckListen("127.0.0.1"); err == nil {
		t.Error("an address without a port passed")
	}
}

func TestNoneRefusesForeignHosts(t *testing.T) {
	t.Parallel()
	for host, ok := range map[string]bool{
		"127.0.0.1:8080":       true,
		"127.0.0.1":            true,
		"localhost":            true,
		"[::1]:8080":           true,
		"[::1]":                true,
		"evil.example.com":     false,
		"127.0.0.1.evil.com":   false,
		"wms.example.com:8080": false,
		"":                     false,
	} {
		r := httptest.NewRequest(http.MethodGet, "/api/v1/notices", http.NoBody)
		r.Host = host
		id, err := None{}.Authenticate(r)
		if ok && (err != nil || id.Subject != "anonymous") {
			t.Errorf("host %q: %v, %v", host, id, err)
		}
		if !ok && !errors.Is(err, ErrForeignHost) {
			t.Errorf("host %q: %v, want ErrForeignHost", host, err)
		}
	}
}

func TestBearerHeaders(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		headers []string
		want    string
		err     error
	}{
		"none":          {nil, "", ErrNoToken},
		"empty":         {[]string{""}, "", ErrNoToken},
		"bearer":        {[]string{"Bearer abc"}, "abc", nil},
		"case":          {[]string{"bEaReR abc"}, "abc", nil},
		"spaces":        {[]string{"Bearer   abc  "}, "abc", nil},
		"base64":        {[]string{"Bearer a+b/c_d-e.f~g=="}, "a+b/c_d-e.f~g==", nil},
		"two":           {[]string{"Bearer abc", "Bearer abd"}, "", ErrBadToken},
		"two, one bare": {[]string{"", "Bearer abc"}, "", ErrBadToken},
		"basic":         {[]string{"Basic abc"}, "", ErrNoToken},
		"bare":          {[]string{"abc"}, "", ErrNoToken},
		"no token":      {[]string{"Bearer "}, "", ErrBadToken},
		"two words":     {[]string{"Bearer abc def"}, "", ErrBadToken},
		"comma":         {[]string{"Bearer abc,Bearer def"}, "", ErrBadToken},
		"tab":           {[]string{"Bearer\tabc"}, "", ErrNoToken},
		"not ascii":     {[]string{"Bearer äbc"}, "", ErrBadToken},
		"long":          {[]string{"Bearer " + strings.Repeat("a", maxToken+1)}, "", ErrBadToken},
	} {
		if got, err := bearer(c.headers); got != c.want || !errors.Is(err, c.err) || (err == nil) != (c.err == nil) {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
}

// FuzzBearer: any header is accepted as one token or refused, and no error repeats a part of the token.
func FuzzBearer(f *testing.F) {
	secret := NewSecret()
	for _, s := range []string{"", "Bearer", "Bearer x", "bearer a.b.c", "Bearer " + secret, "Bearer eyJhbGciOiJub25lIn0.e30.", "Bearer  a ", "Basic Zm9v", "Bearer a\x00b"} {
		f.Add(s)
	}
	b := &Bearer{Tokens: NewTokens(), JWT: NewJWT(JWTOptions{Secret: make([]byte, 32), Audience: "a", Claims: Claims{Subject: "sub"}})}
	f.Fuzz(func(t *testing.T, header string) {
		r := &http.Request{Header: http.Header{"Authorization": {header}}}
		who, err := b.Authenticate(r)
		if err == nil {
			t.Fatalf("%q is %+v", header, who)
		}
		if !errors.Is(err, ErrNoToken) && !errors.Is(err, ErrBadToken) {
			t.Fatalf("%q: %v", header, err)
		}
		if _, token, ok := strings.Cut(header, " "); ok && len(token) > 20 && strings.Contains(err.Error(), token) {
			t.Fatalf("%v repeats the token", err)
		}
		token, err := bearer(r.Header["Authorization"])
		if (err == nil) != (token != "") || strings.ContainsAny(token, " \t\r\n,") || len(token) > maxToken {
			t.Fatalf("%q is read as %q, %v", header, token, err)
		}
	})
}
