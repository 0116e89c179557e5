package config

import (
	"path/filepath"
	"slices"
	"testing"
	"time"
)

func TestHTTPSection(t *testing.T) {
	t.Parallel()
	file := write(t, `
http:
  rate: {requests: 600/m, burst: 40, failures: none}
  cors: {origins: ["https://wms.example.com", "http://localhost:5173"]}
  tls: {cert: tls/cert.pem, key: /etc/key.pem, min_version: 1.3}
`)
	c, err := Load(Options{Types: types(), File: file})
	if err != nil {
		t.Fatal(err)
	}
	requests, burst := c.HTTP.Rate.Limits(AuthNone)
	if requests != 10 || burst != 40 || c.HTTP.Rate.Failures != (Rate{}) {
		t.Errorf("rate: %v, %d, %v", requests, burst, c.HTTP.Rate.Failures)
	}
	if !slices.Equal(c.HTTP.CORS.Origins, []string{"https://wms.example.com", "http://localhost:5173"}) {
		t.Errorf("origins: %q", c.HTTP.CORS.Origins)
	}
	if tls := c.HTTP.TLS; !tls.On() || string(tls.Cert) != filepath.Join(filepath.Dir(c.File), "tls", "cert.pem") || tls.Key != "/etc/key.pem" || tls.MinVersion != TLS13 {
		t.Errorf("tls: %+v", tls)
	}
}

// TestRatesByMode proves that mode none has no default limit, because all callers may come through one proxy.
func TestRatesByMode(t *testing.T) {
	t.Parallel()
	fifty := &Rate{Calls: 50, Per: time.Second}
	for name, test := range map[string]struct {
		rate     CallerRate
		mode     AuthMode
		requests float64
		burst    int
	}{
		"none":              {CallerRate{}, AuthNone, 0, 1},
		"none, asked for":   {CallerRate{Requests: fifty}, AuthNone, 50, 1000},
		"tokens":            {CallerRate{}, "token", 1000, 20000},
		"tokens, burst":     {CallerRate{Burst: 7}, "token", 1000, 7},
		"tokens, other":     {CallerRate{Requests: fifty, Burst: 1}, "token", 50, 1},
		"tokens, unlimited": {CallerRate{Requests: &Rate{}}, "token", 0, 1},
		"slow":              {CallerRate{Requests: &Rate{Calls: 1, Per: time.Hour}}, "token", 1.0 / 3600, 1},
	} {
		requests, burst := test.rate.Limits(test.mode)
		if requests != test.requests || burst != test.burst {
			t.Errorf("%s: %v a second, %d at once", name, requests, burst)
		}
	}
}

// TestBadHTTP is TestBadConfigurations for http.
func TestBadHTTP(t *testing.T) {
	t.Parallel()
	origin := func(o string) string { return `http: {cors: {origins: ["` + o + `"]}}` }
	checkRefusals(t, []refused{
		{name: "rate", text: "http: {rate: {requests: 50}}", want: []string{`bad_rate: http.rate.requests: "50" is no rate`}},
		{name: "burst of none", text: "http: {rate: {burst: 0}}", want: []string{"out_of_range: http.rate.burst is 0, at least 1 is needed"}},
		{name: "burst without a rate", text: "http: {rate: {requests: none, burst: 5}}", want: []string{"bad_rate: http.rate.burst has no effect"}, hint: "remove it"},
		{name: "all origins", text: origin("*"), want: []string{":1:25: bad_origin: an origin with * is not allowed"}},
		{name: "a domain", text: origin("https://*.example.com"), want: []string{"bad_origin: an origin with *"}},
		{name: "null", text: origin("null"), want: []string{"bad_origin: the origin null is not allowed"}},
		{name: "path", text: origin("https://wms.example.com/app"), want: []string{"bad_origin"}, hint: "write https://wms.example.com"},
		{name: "slash", text: origin("https://wms.example.com/"), want: []string{"bad_origin"}, hint: "write https://wms.example.com"},
		{name: "own port", text: origin("https://WMS.example.com:443"), want: []string{"bad_origin"}, hint: "write https://wms.example.com"},
		{name: "no scheme", text: origin("wms.example.com"), want: []string{`bad_origin: "wms.example.com" is no origin`}},
		{name: "another scheme", text: origin("ftp://wms.example.com"), want: []string{"is no origin"}},
		{name: "cert without key", text: "http:\n  tls: {cert: c}", want: []string{":2:3: missing_field: http.tls.key is missing"}},
		{name: "key without cert", text: "http:\n  tls: {key: k}", want: []string{":2:3: missing_field: http.tls.cert is missing"}},
		{name: "old version", text: "http: {tls: {cert: c, key: k, min_version: 1.1}}", want: []string{`unknown_value: http.tls.min_version cannot be "1.1"`}, hint: "1.2 or 1.3; older versions are not safe"},
	})
}
