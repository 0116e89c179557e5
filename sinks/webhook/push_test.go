package webhook_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tallyman/internal/testenv"
	"tallyman/sinks"
	"tallyman/sinks/sinktest"
	"tallyman/sinks/webhook"
)

// TestRequest tests what a server gets: the JSON of the notice as in the API, and the headers.
func TestRequest(t *testing.T) {
	t.Parallel()
	server := testenv.NewHTTPServer(t)
	at := time.Unix(1780272600, 5e8)
	w := newWebhook(t, webhook.Options{
		URL: strings.Replace(server.URL, "://", "://ann:pass@", 1) + "/hook?to=a", Secrets: []string{secret}, Version: "1.2.3",
		Headers: map[string]string{"X-Team": "stock", "content-type": "text/plain", "Webhook-Id": "mine"}, Now: func() time.Time { return at },
	})
	batch := one(1)
	if err := push(t, w, batch); err != nil {
		t.Fatal(err)
	}
	r := server.Requests()[0]
	id := batch[0].Notice.ID
	for name, want := range map[string]string{
		"Content-Type": "application/json", "User-Agent": "tallyman/1.2.3", "Idempotency-Key": id, "Webhook-Id": id,
		"Webhook-Timestamp": "1780272600", "X-Team": "stock", "Authorization": "Basic YW5uOnBhc3M=",
	} {
		if got := r.Header.Values(name); len(got) != 1 || got[0] != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	if r.Method != http.MethodPost || r.URI != "/hook?to=a" {
		t.Errorf("%s %s", r.Method, r.URI)
	}
	want, err := json.Marshal(batch[0].Notice)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(r.Body)); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	if !verified(t, r, secret) {
		t.Error("the signature is not that of the request")
	}
}

// TestBatch tests that a batch has one form, even with a single notice, and that its id follows from its notices.
func TestBatch(t *testing.T) {
	t.Parallel()
	server := testenv.NewHTTPServer(t)
	w := newWebhook(t, webhook.Options{URL: server.URL, Batch: true})
	for _, n := range []int{1, 3} {
		batch := sinktest.PushDeliveries(1, n)
		if err := push(t, w, batch); err != nil {
			t.Fatal(err)
		}
		r := server.Requests()[server.Asked()-1]
		var sent struct{ Notices []json.RawMessage }
		if err := json.Unmarshal(r.Body, &sent); err != nil || len(sent.Notices) != n {
			t.Fatalf("%d notices, %v", len(sent.Notices), err)
		}
		for i, raw := range sent.Notices {
			var f struct{ ID string }
			if err := json.Unmarshal(raw, &f); err != nil || f.ID != batch[i].Notice.ID {
				t.Errorf("notice %d is %s, want %s (%v)", i, f.ID, batch[i].Notice.ID, err)
			}
		}
		if id := r.Header.Get("Idempotency-Key"); !strings.HasPrefix(id, "b_") || id != r.Header.Get("Webhook-Id") {
			t.Errorf("the id is %q", id)
		}
	}
}

// TestUnsigned proves that without a secret there is no signature.
func TestUnsigned(t *testing.T) {
	t.Parallel()
	server := testenv.NewHTTPServer(t)
	if err := push(t, newWebhook(t, webhook.Options{URL: server.URL}), one(1)); err != nil {
		t.Fatal(err)
	}
	if h := server.Requests()[0].Header; h.Values("Webhook-Signature") != nil || h.Get("Webhook-Timestamp") == "" {
		t.Error(h)
	}
}

// TestNoJSON tests that the error names a notice that cannot be encoded, and that its batch is not sent.
func TestNoJSON(t *testing.T) {
	t.Parallel()
	server := testenv.NewHTTPServer(t)
	w := newWebhook(t, webhook.Options{URL: server.URL, Batch: true})
	batch := sinktest.PushDeliveries(1, 3)
	batch[1].Notice.CreatedAt = time.Date(12345, 1, 1, 0, 0, 0, 0, time.UTC)
	err := push(t, w, batch)
	refused, ok := errors.AsType[*sinks.RefusedError](err)
	if !ok || len(refused.Seqs) != 1 || refused.Seqs[0] != batch[1].Seq || server.Asked() != 0 {
		t.Errorf("%v; the server was asked %d times", err, server.Asked())
	}
}

// TestConnectionsAreKept proves that calls one after the other need one connection, whether they succeed or not.
func TestConnectionsAreKept(t *testing.T) {
	t.Parallel()
	server := testenv.NewHTTPServer(t)
	w := newWebhook(t, webhook.Options{URL: server.URL})
	long := strings.Repeat("x", 60_000)
	server.Next(testenv.ReplyStatus(200, long), testenv.ReplyStatus(500, long), testenv.ReplyStatus(429, "", "Retry-After", "1"))
	from := map[string]bool{}
	for i := range int64(5) {
		_ = push(t, w, one(i))
	}
	for _, r := range server.Requests() {
		from[r.From] = true
	}
	if len(from) != 1 {
		t.Errorf("%d connections for %d requests", len(from), server.Asked())
	}
}
