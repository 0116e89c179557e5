package api_test

import (
	"crypto/tls"
	"net/http"
	"net/http/httptest"
	"testing"
)

// TestSecurityHeaders holds answers of every kind against what each of them must tell a browser.
func TestSecurityHeaders(t *testing.T) {
	t.Parallel()
	b := newBundle(func(d *parts) { d.HTTP.Origins = []string{"https://wms.example.com"} })
	for name, request := range map[string]struct {
		method, path string
		tls          bool
		status       int
		cache        string
	}{
		"page":        {path: pollPath, status: 200, cache: "private, no-cache"},
		"page by TLS": {path: pollPath, tls: true, status: 200, cache: "private, no-cache"},
		"operation":   {path: "/api/v1/subscriptions", status: 200, cache: "no-store"},
		"health":      {path: "/healthz", status: 200, cache: "no-store"},
		"not found":   {path: "/nothing", status: 404, cache: "no-store"},
		"not allowed": {method: "DELETE", path: "/api/v1/notices", status: 405, cache: "no-store"},
		"bad request": {path: "/api/v1/notices?warehouse=1&wait=x", status: 400, cache: "no-store"},
		"bad body":    {method: "POST", path: "/api/v1/subscriptions", status: 400, cache: "no-store"},
		"preflight":   {method: "OPTIONS", path: pollPath, status: 403, cache: "no-store"},
	} {
		r := httptest.NewRequest(request.method, request.path, http.NoBody)
		r.Host = "localhost"
		r.Header.Set("Access-Control-Request-Method", "GET")
		if request.tls {
			r.TLS = &tls.ConnectionState{}
		}
		rec := httptest.NewRecorder()
		b.api.ServeHTTP(rec, r)
		want := map[string]string{
			"X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer", "X-Frame-Options": "DENY",
			"Content-Security-Policy":      "default-src 'none'; frame-ancestors 'none'",
			"Cross-Origin-Resource-Policy": "same-origin", "Cache-Control": request.cache, "Strict-Transport-Security": "",
			"Access-Control-Allow-Origin": "",
		}
		if request.tls {
			want["Strict-Transport-Security"] = "max-age=31536000"
		}
		if rec.Code != request.status {
			t.Errorf("%s: status %d", name, rec.Code)
		}
		for header, value := range want {
			if got := rec.Header().Get(header); got != value {
				t.Errorf("%s: %s is %q, not %q", name, header, got, value)
			}
		}
	}
}
