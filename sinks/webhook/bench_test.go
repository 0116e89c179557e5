package webhook_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"tallyman/sinks/webhook"
)

// BenchmarkPush is a signed call beside a plain one of the same body with the standard client.
func BenchmarkPush(b *testing.B) {
	const atATime = 64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.WriteHeader(http.StatusNoContent)
	}))
	b.Cleanup(server.Close)
	batch := one(1)
	b.Run("webhook", func(b *testing.B) {
		w := newWebhook(b, webhook.Options{URL: server.URL, Secrets: []string{secret}, Connections: atATime})
		b.ReportAllocs()
		b.SetParallelism(atATime / 2)
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				if err := w.Push(b.Context(), batch); err != nil {
					b.Error(err)
				}
			}
		})
	})
	b.Run("plain", func(b *testing.B) {
		client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: atATime}}
		b.Cleanup(client.CloseIdleConnections)
		body, err := json.Marshal(batch[0].Notice)
		if err != nil {
			b.Fatal(err)
		}
		b.ReportAllocs()
		b.SetParallelism(atATime / 2)
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				resp, err := client.Post(server.URL, "application/json", bytes.NewReader(body))
				if err != nil {
					b.Error(err)
					continue
				}
				_ = resp.Body.Close()
			}
		})
	})
}
