package webhook_test

import (
	"net/http"
	"strings"
	"testing"

	"tallyman/internal/testenv"
	"tallyman/sinks/sinktest"
	"tallyman/sinks/webhook"
)

// TestSuite proves what every push channel must do, over each protocol.
func TestSuite(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ tls, http2, batch bool }{
		"HTTP/1.1":          {},
		"HTTP/1.1, batches": {batch: true},
		"HTTP/1.1 over TLS": {tls: true},
		"HTTP/2":            {tls: true, http2: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sinktest.RunPush(t, func(t *testing.T) sinktest.PushFixture {
				t.Helper()
				return fixture(t, test.tls, test.http2, test.batch)
			})
		})
	}
}

func fixture(t *testing.T, tls, http2, batch bool) sinktest.PushFixture {
	t.Helper()
	server := testenv.UnstartedHTTPServer(t)
	server.EnableHTTP2 = http2
	o := webhook.Options{
		Secrets: []string{secret, "plain old secret"}, Headers: map[string]string{"X-Api-Key": "k3y/0f+api", "Authorization": "Bearer t0ken-of-ours"}, Batch: batch,
	}
	if tls {
		server.StartTLS()
		o.TLS = webhook.TLS{CA: caFile(t, server)}
	} else {
		server.Start()
	}
	o.URL = server.URL + "/services/T0000AAAABBBBCCCC?token=qu3ry%2Ftoken"
	taken := testenv.ReplyStatus(http.StatusOK, "thanks")
	lost := &keys{}
	server.Always(lost.with(taken))
	return sinktest.PushFixture{
		Pusher: newWebhook(t, o), Batches: batch, Asked: server.Asked,
		Secrets: []string{secret, secret[6:], "plain old secret", "k3y/0f+api", "t0ken-of-ours", "qu3ry/token", "qu3ry%2Ftoken", "T0000AAAABBBBCCCC"},
		Answer:  func(t testing.TB, a sinktest.Answer) { t.Helper(); server.Always(reply(t, a, taken, lost)) },
		Keys:    func(testing.TB) []string { return lost.list() },
		Codes:   map[sinktest.Answer]int{sinktest.Take: 200, sinktest.Refuse: 422, sinktest.Fail: 500, sinktest.Later: 429},
	}
}

func reply(t testing.TB, a sinktest.Answer, taken testenv.HTTPReply, k *keys) testenv.HTTPReply {
	t.Helper()
	switch a {
	case sinktest.Take:
		return k.with(taken)
	case sinktest.Refuse:
		return testenv.ReplyEcho(http.StatusUnprocessableEntity)
	case sinktest.Fail:
		return testenv.ReplyEcho(http.StatusInternalServerError)
	case sinktest.Later:
		return testenv.ReplyEcho(http.StatusTooManyRequests, "Retry-After", "7")
	case sinktest.Break:
		return testenv.ReplyReset
	case sinktest.Lose:
		return k.with(testenv.ReplyReset)
	case sinktest.Hang:
		return testenv.ReplyHang
	default:
		t.Fatalf("no reply for %s", a)
		return nil
	}
}

// TestSuiteSeesSecrets proves that the server of the suite gives away what it was sent.
func TestSuiteSeesSecrets(t *testing.T) {
	t.Parallel()
	server := testenv.NewHTTPServer(t)
	server.Always(testenv.ReplyEcho(http.StatusBadRequest))
	w := newWebhook(t, webhook.Options{URL: server.URL + "/hush", Headers: map[string]string{"A": "hush-hush"}})
	err := push(t, w, one(1))
	if !has(err, "***", "A: ***", "Content-Length") || strings.Contains(err.Error(), "hush") {
		t.Error(err)
	}
}
