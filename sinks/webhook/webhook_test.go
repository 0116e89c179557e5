package webhook_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"strings"
	"testing"
	"time"

	"tallyman/internal/testenv"
	"tallyman/sinks/webhook"
)

// verified checks a call as a receiver that knows the secret does.
func verified(t testing.TB, r testenv.HTTPRequest, secret string) bool {
	t.Helper()
	key := []byte(secret)
	if coded, ok := strings.CutPrefix(secret, "whsec_"); ok {
		var err error
		if key, err = base64.StdEncoding.DecodeString(coded); err != nil {
			t.Fatal(err)
		}
	}
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(r.Header.Get("Webhook-Id") + "." + r.Header.Get("Webhook-Timestamp") + "." + string(r.Body)))
	want := "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil))
	for got := range strings.SplitSeq(r.Header.Get("Webhook-Signature"), " ") {
		if hmac.Equal([]byte(got), []byte(want)) {
			return true
		}
	}
	return false
}

// TestPublishedExample is the example that the libraries of Standard Webhooks are tested with.
func TestPublishedExample(t *testing.T) {
	t.Parallel()
	got, err := webhook.Sign([]string{secret}, "msg_p5jXN8AQM9LWM0D4loKWxJek", time.Unix(1614265330, 0), []byte(`{"test": 2432232314}`))
	if want := "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="; err != nil || got != want {
		t.Errorf("%q, %v, want %q", got, err, want)
	}
}

// TestRotation proves that receivers with the old or the new secret can check a call that is signed with both.
func TestRotation(t *testing.T) {
	t.Parallel()
	server := testenv.NewHTTPServer(t)
	w := newWebhook(t, webhook.Options{URL: server.URL, Secrets: []string{secret, "the old one"}})
	if err := push(t, w, one(1)); err != nil {
		t.Fatal(err)
	}
	r := server.Requests()[0]
	if !verified(t, r, secret) || !verified(t, r, "the old one") || verified(t, r, "another") {
		t.Errorf("signature %q", r.Header.Get("Webhook-Signature"))
	}
	r.Body = append(r.Body, ' ')
	if verified(t, r, secret) {
		t.Error("a changed body passes")
	}
}

// TestSignaturesAtOnce tests that calls that are signed at the same time do not disturb each other, although hashes are
// reused.
func TestSignaturesAtOnce(t *testing.T) {
	t.Parallel()
	server := testenv.NewHTTPServer(t)
	w := newWebhook(t, webhook.Options{URL: server.URL, Secrets: []string{secret, "the old one"}})
	const callers, each = 16, 20
	errs := make(chan error, callers)
	for c := range int64(callers) {
		go func() {
			var all error
			for i := range int64(each) {
				all = errors.Join(all, w.Push(t.Context(), one(c*each+i)))
			}
			errs <- all
		}()
	}
	for range callers {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
	requests := server.Requests()
	for _, r := range requests {
		if !verified(t, r, secret) || !verified(t, r, "the old one") {
			t.Errorf("%s: signature %q", r.Header.Get("Webhook-Id"), r.Header.Get("Webhook-Signature"))
		}
	}
	if len(requests) != callers*each {
		t.Errorf("%d calls", len(requests))
	}
}

func TestBadOptions(t *testing.T) {
	t.Parallel()
	for want, o := range map[string]webhook.Options{
		"must be http":                  {URL: "ftp://example.com/hush"},
		"the url must be":               {URL: "hush"},
		"cannot be read":                {URL: "http://exa mple/hush"},
		"the rest is not base64":        {URL: "http://example.com", Secrets: []string{"whsec_hush!"}},
		"a secret is empty":             {URL: "http://example.com", Secrets: []string{"whsec_"}},
		"127.0.0.1 is a loopback":       {URL: "http://127.0.0.1/hush"},
		"fe80::1%eth0 is a link-local":  {URL: "http://[fe80::1%25eth0]/hush"},
		"169.254.169.254 is the metada": {URL: "http://169.254.169.254/hush"},
		"go together":                   {URL: "https://example.com", TLS: webhook.TLS{Cert: "x"}},
		"no such file":                  {URL: "https://example.com", TLS: webhook.TLS{CA: "nowhere.pem"}},
		"no certificate in dns_test.go": {URL: "https://example.com", TLS: webhook.TLS{CA: "dns_test.go"}},
		"tls.cert dns_test.go and":      {URL: "https://example.com", TLS: webhook.TLS{Cert: "dns_test.go", Key: "dns_test.go"}},
	} {
		if _, err := webhook.New(o); !has(err, want) || has(err, "hush") {
			t.Errorf("%v, want %q", err, want)
		}
	}
}
