package webhook_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"tallyman/internal/testenv"
	"tallyman/sinks"
	"tallyman/sinks/webhook"
)

// TestStatuses proves which answers are about the notice, and which about the endpoint.
func TestStatuses(t *testing.T) {
	t.Parallel()
	server := testenv.NewHTTPServer(t)
	w := newWebhook(t, webhook.Options{URL: server.URL})
	for status, want := range map[int]string{
		200: "sent", 201: "sent", 202: "sent", 204: "sent", 299: "sent",
		300: "transient", 301: "transient", 302: "transient", 304: "transient", 307: "transient", 308: "transient",
		400: "refused", 401: "transient", 403: "transient", 404: "transient", 405: "transient", 407: "transient", 408: "transient",
		409: "transient", 410: "transient", 413: "refused", 415: "refused", 418: "transient", 421: "transient", 422: "refused",
		425: "transient", 429: "transient", 431: "transient", 451: "transient",
		500: "transient", 501: "transient", 502: "transient", 503: "transient", 504: "transient", 599: "transient", 999: "transient",
	} {
		server.Next(testenv.ReplyStatus(status, ""))
		err := push(t, w, one(1))
		got := "transient"
		if _, ok := errors.AsType[*sinks.RefusedError](err); ok {
			got = "refused"
		} else if err == nil {
			got = "sent"
		}
		if got != want {
			t.Errorf("%d: %s, want %s (%v)", status, got, want, err)
		}
		if _, ok := errors.AsType[*sinks.LaterError](err); ok {
			t.Errorf("%d asks to come later", status)
		}
		if _, ok := errors.AsType[*sinks.GoneError](err); ok != (status == http.StatusGone) {
			t.Errorf("%d says that there is no such thing: %v", status, ok)
		}
	}
}

// TestRetryAfter tests the pause that an answer asks for. Only 429 and 503 can ask for one.
func TestRetryAfter(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC)
	date := func(d time.Duration) string { return now.Add(d).Format(http.TimeFormat) }
	server := testenv.NewHTTPServer(t)
	w := newWebhook(t, webhook.Options{URL: server.URL, Now: func() time.Time { return now }})
	for _, test := range []struct {
		status      int
		text, clock string
		want        time.Duration
	}{
		{429, "7", "", 7 * time.Second},
		{503, " 120 ", "", 2 * time.Minute},
		{429, "0", "", 0},
		{429, "-7", "", 0},
		{429, "1.5", "", 0},
		{429, "soon", "", 0},
		{429, "3600", "", time.Hour},
		{429, "3601", "", time.Hour},
		{429, "9223372036854775807", "", time.Hour},
		{429, strings.Repeat("9", 500), "", time.Hour},
		{429, date(30 * time.Second), date(0), 30 * time.Second},
		{503, date(30 * time.Second), date(10 * time.Second), 20 * time.Second}, // its clock, not ours
		{503, date(30 * time.Second), "nonsense", 30 * time.Second},
		{503, date(-time.Minute), date(0), 0},
		{503, date(1000 * time.Hour), date(0), time.Hour},
		{500, "7", "", 0},
		{404, "7", "", 0},
		{301, "7", "", 0},
	} {
		server.Next(testenv.ReplyStatus(test.status, "", "Retry-After", test.text, "Date", test.clock))
		err := push(t, w, one(1))
		later, ok := errors.AsType[*sinks.LaterError](err)
		if err == nil || ok != (test.want > 0) || ok && later.After != test.want {
			t.Errorf("%d with %.40q by %q: %v, want %s", test.status, test.text, test.clock, err, test.want)
		}
	}
	server.Next(testenv.ReplyStatus(400, "", "Retry-After", "7"))
	if _, ok := errors.AsType[*sinks.RefusedError](push(t, w, one(1))); !ok {
		t.Error("a 400 with Retry-After is not refused")
	}
}

// TestRedirect tests that no redirect is followed, and that the error says what to change without showing the whole
// address.
func TestRedirect(t *testing.T) {
	t.Parallel()
	other := testenv.NewHTTPServer(t)
	server := testenv.NewHTTPServer(t)
	w := newWebhook(t, webhook.Options{URL: server.URL})
	for _, status := range []int{301, 302, 303, 307, 308} {
		server.Next(testenv.ReplyStatus(status, "", "Location", other.URL+"/private?token=abcdef"))
		err := push(t, w, one(1))
		if !has(err, "follows no redirect", other.URL) || has(err, "abcdef") {
			t.Errorf("%d: %v", status, err)
		}
	}
	if other.Asked() != 0 {
		t.Error("a redirect was followed")
	}
}

// TestText proves how much of an answer is shown, and how.
func TestText(t *testing.T) {
	t.Parallel()
	server := testenv.NewHTTPServer(t)
	w := newWebhook(t, webhook.Options{URL: server.URL})
	for text, want := range map[string]string{
		"":                       " answered 500 Internal Server Error",
		"no\r\n disk\x1b[31m":    " answered 500 Internal Server Error: no disk[U+001B][31m",
		"\xff\xfe":               " answered 500 Internal Server Error: \uFFFD\uFFFD",
		strings.Repeat("y", 300): " answered 500 Internal Server Error: " + strings.Repeat("y", 197) + "…",
	} {
		server.Next(testenv.ReplyStatus(500, text))
		if err := push(t, w, one(1)); err == nil || err.Error() != server.Listener.Addr().String()+want {
			t.Errorf("%.20q: %v", text, err)
		}
	}
	server.Next(testenv.ReplyStatus(799, "?"))
	if err := push(t, w, one(1)); !has(err, "answered 799: ?") {
		t.Error(err)
	}
}

// TestStatusDecides proves that a text that never ends, trickles in or is cut off changes nothing about the answer.
func TestStatusDecides(t *testing.T) {
	t.Parallel()
	for name, reply := range map[string]func(status int) testenv.HTTPReply{
		"huge":    testenv.ReplyHuge,
		"trickle": func(status int) testenv.HTTPReply { return testenv.ReplySlowly(status, 100*time.Millisecond) },
		"cut":     func(status int) testenv.HTTPReply { return testenv.ReplyCut(status, "half of") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := testenv.NewHTTPServer(t)
			w := newWebhook(t, webhook.Options{URL: server.URL})
			server.Next(reply(200), reply(500), reply(400))
			if err := push(t, w, one(1)); err != nil {
				t.Errorf("200: %v", err)
			}
			if err := push(t, w, one(1)); !has(err, "answered 500") {
				t.Errorf("500: %v", err)
			}
			if _, ok := errors.AsType[*sinks.RefusedError](push(t, w, one(1))); !ok {
				t.Error("400: not refused")
			}
			if err := push(t, w, one(1)); err != nil {
				t.Errorf("then: %v", err)
			}
		})
	}
}

// TestNoAnswer tests that the error says how far a call came and which side ended it, in plain text only.
func TestNoAnswer(t *testing.T) {
	t.Parallel()
	server := testenv.NewHTTPServer(t)
	server.Always(testenv.ReplyHang)
	w := newWebhook(t, webhook.Options{URL: server.URL})
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	if err := w.Push(ctx, one(1)); !errors.Is(err, context.DeadlineExceeded) || !has(err, "did not answer") {
		t.Errorf("a server that hangs: %v", err)
	}
	server.Always(testenv.ReplyReset)
	if err := push(t, w, one(1)); !has(err, "did not answer: read: connection reset by peer") && !has(err, "did not answer: EOF") {
		t.Errorf("a server that resets: %v", err)
	}
	server.Close()
	address := server.Listener.Addr().String()
	if err := push(t, w, one(1)); !has(err, "no connection to "+address+": connect: connection refused ("+address+")") {
		t.Errorf("a server that is away: %v", err)
	}
	nowhere := newWebhook(t, webhook.Options{URL: "http://no-such-host.invalid/"})
	if err := push(t, nowhere, one(1)); !has(err, "no connection to no-such-host.invalid: ") {
		t.Errorf("a name that is none: %v", err)
	}
}
