package api_test

import (
	"context"
	"net"
	"net/http"
	"testing"
)

// serve has the API serve itself, under its own limits. The returned function ends that and gives Serve's error.
func (b *bundle) serve(t *testing.T) func() <-chan error {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	b.url = "http://" + ln.Addr().String()
	ctx, stop := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- b.api.Serve(ctx, ln) }()
	return func() <-chan error {
		stop()
		return served
	}
}

func TestShutdownWakesThoseWhoWait(t *testing.T) {
	t.Parallel()
	b := setup(t)
	stop := b.serve(t)
	tag := b.get(t, pollPath).header.Get("ETag")
	plain, tagged := b.later(t, pollPath+"&wait=60s"), b.later(t, pollPath+"&wait=60s", "If-None-Match", tag)
	b.inbox.awaitWaiters(2)
	ended := stop()
	if got := <-plain; got.status != http.StatusOK || len(decodePage(t, got.body).Notices) != 0 {
		t.Errorf("without a tag: status %d: %s", got.status, got.body)
	}
	if got := <-tagged; got.status != http.StatusNotModified {
		t.Errorf("with a tag: status %d", got.status)
	}
	if err := <-ended; err != nil {
		t.Errorf("Serve: %v", err)
	}
}

func TestServeSaysWhyItEnded(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ln.Close()
	if err := b.api.Serve(t.Context(), ln); err == nil {
		t.Error("serving a closed listener is no error")
	}
}
