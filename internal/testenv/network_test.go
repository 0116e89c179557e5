package testenv_test

import (
	"context"
	"io"
	"net/http"
	"testing"
	"time"

	"tallyman/internal/testenv"
)

// TestToxic shows each fault to a web client, and checks which requests the server has read.
func TestToxic(t *testing.T) {
	t.Parallel()
	server := testenv.NewHTTPServer(t)
	server.Always(testenv.ReplyStatus(http.StatusOK, "fine"))
	toxic := testenv.NewToxic(t, server.Listener.Addr().String())
	client := &http.Client{Transport: &http.Transport{}}
	defer client.CloseIdleConnections()
	get := func(within time.Duration) error {
		ctx, cancel := context.WithTimeout(t.Context(), within)
		defer cancel()
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+toxic.Addr, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := client.Do(req)
		if err != nil {
			return err
		}
		defer resp.Body.Close()
		_, err = io.ReadAll(resp.Body)
		return err
	}
	const long = 20 * time.Second
	if err := get(long); err != nil {
		t.Error("well:", err)
	}
	toxic.Latency(200*time.Millisecond, 0)
	if began := time.Now(); get(long) != nil || time.Since(began) < 200*time.Millisecond {
		t.Errorf("an answer after %s", time.Since(began))
	}
	toxic.Silence()
	if err := get(200 * time.Millisecond); err == nil {
		t.Error("an answer through a silent network")
	}
	toxic.Reset()
	before := server.Asked()
	if err := get(long); err == nil || server.Asked() == before {
		t.Errorf("reset: %v, %d requests came", err, server.Asked()-before)
	}
	toxic.Limit(20)
	if err := get(long); err == nil {
		t.Error("an answer through a network that is cut after 20 bytes")
	}
	toxic.Heal()
	if err := get(long); err != nil {
		t.Error("healed:", err)
	}
}
