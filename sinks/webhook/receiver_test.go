package webhook_test

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tallyman/internal/testenv"
	"tallyman/sinks/sinktest"
	"tallyman/sinks/webhook"
)

// receiver is the one of docs/how-to/webhooks.md, as a reader would copy it.
type receiver struct {
	url   string
	lines chan string // that it prints
}

func startReceiver(t *testing.T, secret string) *receiver {
	t.Helper()
	page, err := os.ReadFile("../../docs/how-to/webhooks.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(page), "```python\n")
	code, _, found := strings.Cut(rest, "```")
	if !found {
		t.Fatal("docs/how-to/webhooks.md has no receiver in Python any more")
	}
	name := filepath.Join(t.TempDir(), "receiver.py")
	write(t, name, []byte(code))
	cmd := exec.CommandContext(t.Context(), "python3", name)
	cmd.Env = append(os.Environ(), "WEBHOOK_SECRET="+secret, "PORT=0")
	cmd.Stderr = t.Output()
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatalf("the receiver needs python3: %v", err)
	}
	r := &receiver{lines: make(chan string, 100)}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for said := bufio.NewScanner(out); said.Scan(); {
			r.lines <- said.Text()
		}
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		<-done
		_ = cmd.Wait()
	})
	port, ok := strings.CutPrefix(r.next(t), "listening on ")
	if !ok {
		t.Fatalf("the receiver says %q", port)
	}
	r.url = "http://127.0.0.1:" + port + "/hook"
	return r
}

// next is the next line that it prints.
func (r *receiver) next(t *testing.T) string {
	t.Helper()
	select {
	case line := <-r.lines:
		return line
	case <-time.After(within):
		t.Fatal("the receiver says nothing")
		return ""
	}
}

// TestReceiver tests that the receiver of the documentation accepts our calls once, and no others.
func TestReceiver(t *testing.T) {
	t.Parallel()
	for _, s := range []string{secret, "any other text, ü"} {
		r := startReceiver(t, s)
		ours := newWebhook(t, webhook.Options{URL: r.url, Secrets: []string{"a newer one", s}})
		batches := newWebhook(t, webhook.Options{URL: r.url, Secrets: []string{s}, Batch: true})
		for range 2 { // the second time says nothing
			if err := push(t, ours, one(1)); err != nil {
				t.Error(err)
			}
		}
		if err := push(t, batches, sinktest.PushDeliveries(1, 3)); err != nil {
			t.Error(err)
		}
		for _, want := range []string{"1", "2", "3"} {
			if got := r.next(t); got != "firing 119240 Bin "+want+" is empty" {
				t.Errorf("it says %q, want bin %s", got, want)
			}
		}
		for name, o := range map[string]webhook.Options{
			"another secret":       {Secrets: []string{"another"}},
			"no secret":            {},
			"an old timestamp":     {Secrets: []string{s}, Now: func() time.Time { return time.Now().Add(-10 * time.Minute) }},
			"a timestamp to come":  {Secrets: []string{s}, Now: func() time.Time { return time.Now().Add(10 * time.Minute) }},
			"before there was one": {Secrets: []string{s}, Now: func() time.Time { return time.Unix(-1, 0) }},
		} {
			o.URL = r.url
			if err := push(t, newWebhook(t, o), one(9)); !has(err, "answered 401") {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}

// TestReceiverRefusesChanges proves that a body that was changed on its way is refused.
func TestReceiverRefusesChanges(t *testing.T) {
	t.Parallel()
	r := startReceiver(t, secret)
	server := testenv.NewHTTPServer(t)
	if err := push(t, newWebhook(t, webhook.Options{URL: server.URL, Secrets: []string{secret}}), one(1)); err != nil {
		t.Fatal(err)
	}
	call := server.Requests()[0]
	for change, want := range map[string]int{"": 204, "x": 401} {
		if got := replay(t, r.url, call, change); got != want {
			t.Errorf("with %q more: %d, want %d", change, got, want)
		}
	}
}
