package webhook_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"tallyman/internal/testenv"
	"tallyman/sinks"
	"tallyman/sinks/webhook"
)

// TestBadNetworks tests that a network that is slow, silent, or breaks connections causes failures only while it lasts.
func TestBadNetworks(t *testing.T) {
	t.Parallel()
	server := testenv.NewHTTPServer(t)
	toxic := testenv.NewToxic(t, server.Listener.Addr().String())
	w := newWebhook(t, webhook.Options{URL: "http://" + toxic.Addr})
	try := func(d time.Duration) error {
		ctx, cancel := context.WithTimeout(t.Context(), d)
		defer cancel()
		return w.Push(ctx, one(1))
	}
	for name, fault := range map[string]struct {
		make func()
		want error
	}{
		"latency beyond the timeout": {make: func() { toxic.Latency(5*time.Second, 0) }, want: context.DeadlineExceeded},
		"silence":                    {make: toxic.Silence, want: context.DeadlineExceeded},
		"reset":                      {make: toxic.Reset},
		"cut in the status line":     {make: func() { toxic.Limit(5) }},
	} {
		if err := try(within); err != nil {
			t.Fatalf("before %s: %v", name, err)
		}
		fault.make()
		d := within
		if fault.want != nil {
			d = 300 * time.Millisecond
		}
		err := try(d)
		if _, refused := errors.AsType[*sinks.RefusedError](err); err == nil || refused || fault.want != nil && !errors.Is(err, fault.want) {
			t.Errorf("%s: %v", name, err)
		}
		toxic.Heal()
		testenv.Eventually(t, func() bool { return try(within) == nil }, within)
	}
	toxic.Latency(300*time.Millisecond, 100*time.Millisecond)
	if err := try(within); err != nil {
		t.Errorf("a latency within the timeout: %v", err)
	}
}
