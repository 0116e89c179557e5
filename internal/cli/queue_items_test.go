package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"tallyman/internal/wire"
)

const itemAnswer = `{"id":"i_a","state":"suspended","priority":3,"payload":{"bin":"A-01","note":"two  blanks"},"attempt":1,"failures":0,"suspends":1,
"createdAt":"2026-06-01T00:10:00.123Z","due":"2026-06-01T02:12:00Z","remainingSeconds":7000,"assignee":"anna","trace":[
{"n":0,"at":"2026-06-01T00:10:00.123Z","to":"ready","attempt":0,"node":"node-1","by":"engine"},
{"n":1,"at":"2026-06-01T00:10:30Z","from":"ready","to":"ready","attempt":0,"node":"node-1","by":"ann","assignee":"anna"},
{"n":2,"at":"2026-06-01T00:11:00.123Z","from":"ready","to":"leased","attempt":1,"by":"anna","node":"node-2","due":"2026-06-01T00:12:00Z","assignee":"anna"},
{"n":3,"at":"2026-06-01T00:12:00.5Z","from":"leased","to":"suspended","attempt":1,"by":"anna","node":"node-2","due":"2026-06-01T02:12:00Z","assignee":"anna",
"note":"the bin is blocked by a pallet that nobody wants to move before the night shift has come"},
{"n":4,"at":"2026-06-01T02:12:00.5Z","from":"suspended","to":"dead","attempt":1,"node":"node-2","due":"2026-06-01T02:12:00.5Z"}]}`

func TestQueueShowItem(t *testing.T) {
	t.Parallel()
	url, calls := server(t, reply{200, itemAnswer}, reply{200, itemAnswer}, reply{404, `{"code":"item_not_found","detail":"queue q has no such item"}`})
	code, out, errOut := run(t, url, "", "queue", "show", "q", "i_a")
	const want = `i_a in q
  state     suspended until 2026-06-01 02:12:00Z, 1h56m from now
  for       anna
  priority  3
  attempt   1
  failures  0
  suspends  1
  created   2026-06-01 00:10:00Z
  payload   {"bin":"A-01","note":"two  blanks"}

Trace
  WHEN                      FROM       TO         BY      ATTEMPT  NODE    UNTIL
  2026-06-01 00:10:00.123Z  -          ready      engine  0        node-1  -
  2026-06-01 00:10:30.000Z  ready      ready      ann     0        node-1  -
                            only for anna
  2026-06-01 00:11:00.123Z  ready      leased     anna    1        node-2  2026-06-01 00:12:00Z
  2026-06-01 00:12:00.500Z  leased     suspended  anna    1        node-2  2026-06-01 02:12:00Z
                            the bin is blocked by a pallet that nobody wants to move before the night shift has come
  2026-06-01 02:12:00.500Z  suspended  dead       -       1        node-2  -
`
	if code != ExitFine || out != want || errOut != "" {
		t.Errorf("exit code %d, %s\n%s", code, errOut, out)
	}
	if _, out, _ := run(t, url, "", "queue", "show", "q", "i_a", "--test", "-o", "json"); !json.Valid([]byte(out)) || !strings.Contains(out, `"n": 4`) {
		t.Errorf("JSON: %s", out)
	}
	if (*calls)[0].path != "/api/v1/queues/q/items/i_a" || (*calls)[1].path != "/api/v1/queues/q/items/i_a?test=true" {
		t.Errorf("asked %v", *calls)
	}
	if code, _, errOut := run(t, url, "", "queue", "show", "q", "i/b"); code != ExitProblems || !strings.Contains(errOut, "item_not_found: queue q has no such item") {
		t.Errorf("exit code %d, %s", code, errOut)
	}
	if path := (*calls)[2].path; path != "/api/v1/queues/q/items/i%2Fb" {
		t.Errorf("asked %s", path)
	}
}

func TestHowAnItemStands(t *testing.T) {
	t.Parallel()
	const at = `"readyAt":"2026-06-01T00:10:00Z","due":"2026-06-01T00:12:00Z","remainingSeconds":59,"worker":"w"`
	for state, want := range map[string]string{
		"ready":   "ready since 2026-06-01 00:10:00Z",
		"leased":  "leased by w until 2026-06-01 00:12:00Z, 59s from now",
		"delayed": "delayed until 2026-06-01 00:12:00Z, 59s from now",
		"dead":    "dead since 2026-06-01 00:12:00Z",
		"removed": "removed",
	} {
		var form wire.ItemForm
		if err := json.Unmarshal([]byte(`{"state":"`+state+`",`+at+`}`), &form); err != nil {
			t.Fatal(err)
		}
		if got := itemState(&form); got != want {
			t.Errorf("%s: %s", state, got)
		}
	}
	var b strings.Builder
	writeTraced(&b, 80, "q", &wire.TracedItemForm{})
	if !strings.Contains(b.String(), "There is no trace.") {
		t.Errorf("without a ledger: %s", b.String())
	}
}

func TestLasting(t *testing.T) {
	t.Parallel()
	for seconds, want := range map[int64]string{
		0: "0s", 59: "59s", 61: "1m1s", 3600: "1h", 7199: "1h59m", 86399: "23h59m", 86400: "1d", 90000: "1d1h", 200 * 86400: "200d",
	} {
		if got := lasting(seconds); got != want {
			t.Errorf("%d: %s, not %s", seconds, got, want)
		}
	}
}

// A list says of a notice what its title says, and of anything else all of it.
func TestGist(t *testing.T) {
	t.Parallel()
	for payload, want := range map[string]string{
		`{"id":"n_1","title":"Bin A-01\n is at -3"}`: "Bin A-01  is at -3",
		`{"title":""}`:   `{"title":""}`,
		`{"title":[1]}`:  `{"title":[1]}`,
		`{"bin":"A-01"}`: `{"bin":"A-01"}`,
		`[1,2]`:          `[1,2]`,
		`null`:           `null`,
	} {
		if got := gist(wire.Payload(payload)); got != want {
			t.Errorf("%s: %q", payload, got)
		}
	}
}

func TestQueueLease(t *testing.T) {
	t.Parallel()
	url, calls := server(t,
		reply{200, `{"items":[{"id":"i_a","attempt":3,"priority":5,"payload":{"bin":"A-01"},"leaseUntil":"2026-06-01T00:10:00Z"}]}`},
		reply{200, `{"items":[]}`}, reply{200, `{"name":"q"}`}, reply{200, `{"items":[]}`}, reply{200, `{"name":"q","paused":true}`})
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
	if (*calls)[0] != (serverCall{"POST", "/api/v1/queues/q/lease", `{"worker":"w","max":10,"requestId":"r-1","wait":"25s","lease":"5m"}`}) ||
		(*calls)[1] != (serverCall{"POST", "/api/v1/queues/q/lease", `{"worker":"w","max":1}`}) {
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
