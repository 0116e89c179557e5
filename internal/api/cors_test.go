package api_test

import (
	"slices"
	"strings"
	"testing"
)

const (
	ours  = "https://wms.example.com"
	evil  = "https://evil.example.com"
	subs  = "/api/v1/subscriptions"
	added = `{"type":"REP_NOTICE","warehouse":"119240","subscriber":"role:keeper"}`
)

func withOrigins(origins ...string) func(*parts) {
	return func(d *parts) { d.HTTP.Origins = origins }
}

// TestForeignPages proves which origins may read and change. Without a configured origin none may; with one configured
// origin only that one may.
func TestForeignPages(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, method, origin string
		configured           []string
		status               int
		allowed              string
	}{
		{name: "read, off", method: "GET", origin: ours, status: 200},
		{name: "change, off", method: "POST", origin: ours, status: 403},
		{name: "preflight, off", method: "OPTIONS", origin: ours, status: 405},
		{name: "read", method: "GET", origin: ours, configured: []string{ours}, status: 200, allowed: ours},
		{name: "change", method: "POST", origin: ours, configured: []string{"https://other.example.com", ours}, status: 201, allowed: ours},
		{name: "preflight", method: "OPTIONS", origin: ours, configured: []string{ours}, status: 204, allowed: ours},
		{name: "read by another", method: "GET", origin: evil, configured: []string{ours}, status: 200},
		{name: "change by another", method: "POST", origin: evil, configured: []string{ours}, status: 403},
		{name: "preflight by another", method: "OPTIONS", origin: evil, configured: []string{ours}, status: 403},
		{name: "a name that begins alike", method: "POST", origin: ours + ".evil.com", configured: []string{ours}, status: 403},
		{name: "another scheme", method: "POST", origin: "http://wms.example.com", configured: []string{ours}, status: 403},
		{name: "another port", method: "POST", origin: ours + ":8443", configured: []string{ours}, status: 403},
		{name: "null", method: "POST", origin: "null", configured: []string{ours}, status: 403},
		{name: "no page at all", method: "POST", configured: []string{ours}, status: 201},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			b := newBundle(withOrigins(test.configured...))
			headers := []string{"Content-Type", "application/json", "Access-Control-Request-Method", "POST"}
			if test.origin != "" {
				headers = append(headers, "Origin", test.origin, "Sec-Fetch-Site", "cross-site")
			}
			got := b.handleBody(t, test.method, subs, added, headers...)
			if got.status != test.status {
				t.Errorf("status %d, not %d: %s", got.status, test.status, got.body)
			}
			if h := got.header.Get("Access-Control-Allow-Origin"); h != test.allowed {
				t.Errorf("allowed is %q, not %q", h, test.allowed)
			}
			if h := got.header.Get("Access-Control-Allow-Credentials"); (h == "true") != (test.allowed != "") {
				t.Errorf("credentials: %q", h)
			}
			varies := strings.Contains(strings.Join(got.header.Values("Vary"), ", "), "Origin")
			if configured := len(test.configured) > 0; varies != configured {
				t.Errorf("Vary: %q", got.header.Values("Vary"))
			}
		})
	}
}

// TestPreflight proves that a page may send the headers that the API reads, and see the headers of its answers.
func TestPreflight(t *testing.T) {
	t.Parallel()
	b := newBundle(withOrigins(ours))
	got := b.handleBody(t, "OPTIONS", "/api/v1/notices/n_1/read", "", "Origin", ours, "Access-Control-Request-Method", "POST",
		"Access-Control-Request-Headers", "authorization,content-type")
	list := func(name string) []string { return strings.Split(got.header.Get(name), ", ") }
	for _, method := range []string{"GET", "POST", "PUT", "DELETE"} {
		if !slices.Contains(list("Access-Control-Allow-Methods"), method) {
			t.Errorf("%s is not allowed", method)
		}
	}
	for _, header := range []string{"Authorization", "Content-Type", "If-None-Match", "Idempotency-Key", "Last-Event-ID"} {
		if !slices.Contains(list("Access-Control-Allow-Headers"), header) {
			t.Errorf("%s is not allowed", header)
		}
	}
	if got.body != "" || got.header.Get("Access-Control-Max-Age") != "600" || !strings.Contains(got.header.Get("Vary"), "Access-Control-Request-Method") {
		t.Errorf("%+v", got)
	}
	poll := b.handle(t, pollPath, "Origin", ours)
	if seen := poll.header.Get("Access-Control-Expose-Headers"); !strings.Contains(seen, "ETag") || !strings.Contains(seen, "Retry-After") {
		t.Errorf("a page sees %q", seen)
	}
	if vary := poll.header.Values("Vary"); !slices.Equal(vary, []string{"Origin", "Accept, Accept-Language, Authorization"}) {
		t.Errorf("Vary: %q", vary)
	}
}
