package cli

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
)

func TestQueueLease(t *testing.T) {
	t.Parallel()
	url, calls := server(t,
		answer{200, `{"items":[{"id":"i_a","attempt":3,"priority":5,"payload":{"bin":"A-01"},"leaseUntil":"2026-06-01T00:10:00Z"}]}`},
		answer{200, `{"items":[]}`}, answer{200, `{"name":"q"}`}, answer{200, `{"items":[]}`}, answer{200, `{"name":"q","paused":true}`})
	code, out, errOut := run(t, url, "", "queue", "lease", "q", "--worker", "w", "--max", "10", "--wait", "25s", "--lease", "5m", "--request-id", "r-1")
	if code != ExitFine || out != "i_a  attempt 3, priority 5, until 2026-06-01 00:10:00Z\n  {\"bin\":\"A-01\"}\n" || errOut != "" {
		t.Errorf("exit code %d, %s, %s", code, out, errOut)
	}
	if code, out, _ := run(t, url, "", "queue", "lease", "q", "--worker", "w"); code != ExitFine || out != "Nothing is ready.\n" {
		t.Errorf("exit code %d, %s", code, out)
	}
	if code, out, _ := run(t, url, "", "queue", "lease", "q", "--worker", "w"); code != ExitFine || out != "q is paused: nothing is given out until it is resumed.\n" {
		t.Errorf("paused: exit code %d, %s", code, out)
	}
	if (*calls)[0] != (call{"POST", "/api/v1/queues/q/lease", `{"worker":"w","max":10,"requestId":"r-1","wait":"25s","lease":"5m"}`}) ||
		(*calls)[1] != (call{"POST", "/api/v1/queues/q/lease", `{"worker":"w","max":1}`}) {
		t.Errorf("sent %v", *calls)
	}
}

// TestQueueLeaseIsStopped shows what somebody is told who ends a wait.
func TestQueueLeaseIsStopped(t *testing.T) {
	t.Parallel()
	ctx, stop := context.WithCancel(t.Context())
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		stop()
		<-r.Context().Done()
	}))
	defer s.Close()
	var errOut bytes.Buffer
	code := Run(ctx, Process{
		Args: []string{"queue", "lease", "q", "--worker", "w", "--wait", "60s", "--server", s.URL}, Out: io.Discard, Err: &errOut,
	}, Services{})
	if want := "tallyman: stopped before " + s.URL + " had answered\n"; code != ExitUnreachable || errOut.String() != want {
		t.Errorf("exit code %d, %s", code, errOut.String())
	}
}
