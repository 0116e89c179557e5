package webhook_test

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"tallyman/internal/delivery"
	"tallyman/internal/testenv"
	"tallyman/sinks/sinktest"
	"tallyman/sinks/webhook"
)

func TestMain(m *testing.M) { testenv.Main(m) }

// secret is that of the published examples of Standard Webhooks.
const secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"

// within is generous: a machine that builds and tests at once answers in seconds.
const within = 20 * time.Second

// newWebhook makes one that may connect to this host.
func newWebhook(t testing.TB, o webhook.Options) *webhook.Webhook {
	t.Helper()
	o.AllowPrivate = true
	return guarded(t, o)
}

// guarded makes one as the options say.
func guarded(t testing.TB, o webhook.Options) *webhook.Webhook {
	t.Helper()
	w, err := webhook.New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.Close)
	return w
}

// one is a delivery of a notice of its own.
func one(seq int64) []delivery.Delivery { return sinktest.PushDeliveries(seq, 1) }

// push makes a call that has to end by itself.
func push(t testing.TB, w *webhook.Webhook, batch []delivery.Delivery) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), within)
	defer cancel()
	err := w.Push(ctx, batch)
	if ctx.Err() != nil {
		t.Fatalf("no end within %s: %v", within, err)
	}
	return err
}

// has tells whether the error's text has each of the parts.
func has(err error, parts ...string) bool {
	for _, part := range parts {
		if err == nil || !strings.Contains(err.Error(), part) {
			return false
		}
	}
	return true
}

func port(server *testenv.HTTPServer) int { return server.Listener.Addr().(*net.TCPAddr).Port }

func url(host string, server *testenv.HTTPServer) string {
	return fmt.Sprintf("http://%s/hook", net.JoinHostPort(host, fmt.Sprint(port(server))))
}

// replay posts a call again, with more at the end of its body, and returns the status.
func replay(t testing.TB, to string, call testenv.HTTPRequest, more string) int {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, to, strings.NewReader(string(call.Body)+more))
	if err != nil {
		t.Fatal(err)
	}
	req.Header = call.Header
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	return resp.StatusCode
}
