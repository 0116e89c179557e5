package auth_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"

	"tallyman/internal/auth"
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
		err := auth.CheckListen(addr)
		if ok && err != nil {
			t.Errorf("CheckListen(%q) = %v, want nil", addr, err)
		}
		if !ok && !errors.Is(err, auth.ErrNotLoopback) {
			t.Errorf("CheckListen(%q) = %v, want ErrNotLoopback", addr, err)
		}
	}
	if err := auth.CheckListen("127.0.0.1"); err == nil {
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
		id, err := auth.None{}.Authenticate(r)
		if ok && (err != nil || id.Subject != "anonymous") {
			t.Errorf("host %q: %v, %v", host, id, err)
		}
		if !ok && !errors.Is(err, auth.ErrForeignHost) {
			t.Errorf("host %q: %v, want ErrForeignHost", host, err)
		}
	}
}
