package api_test

import (
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"tallyman/internal/ledger"
)

func TestMarks(t *testing.T) {
	t.Parallel()
	b := setup(t)
	const asked = "?warehouse=119240&subscriber=role:keeper&subscriber=user:1&subscriber=role:boss&subscriber="
	for _, kind := range []string{"read", "ack"} {
		if got := b.do(t, http.MethodPost, "/api/v1/notices/n_abc/"+kind+asked, ""); got.status != http.StatusNoContent || got.body != "" {
			t.Errorf("%s: %d %s", kind, got.status, got.body)
		}
	}
	as := []string{"role:boss", "role:keeper", "user:1"}
	want := []ledger.Mark{
		{Notice: "n_abc", Warehouse: "119240", User: "user:1", As: as, Kind: ledger.MarkRead},
		{Notice: "n_abc", Warehouse: "119240", User: "user:1", As: as, Kind: ledger.MarkAcked},
	}
	if diff := cmp.Diff(want, b.marks.marks, cmpopts.IgnoreFields(ledger.Mark{}, "At")); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	if since := time.Since(b.marks.marks[0].At); since < 0 || since > time.Minute {
		t.Errorf("marked %s ago", since)
	}
}

// TestMarksThatAreCopiedLater has Redis fail at once, or not answer. The log says so, because the mark is not in the inbox.
func TestMarksThatAreCopiedLater(t *testing.T) {
	t.Parallel()
	for name, slow := range map[string]bool{"an error": false, "no answer": true} {
		synctest.Test(t, func(t *testing.T) {
			for path, body := range map[string]string{
				"/api/v1/notices/n_abc/read?warehouse=119240&subscriber=user:1&subscriber=role:keeper": "",
				"/api/v1/notices/read-all": `{"warehouse":"119240","subscribers":["user:1"],"upTo":"c70"}`,
			} {
				b := newBundle()
				b.reads.err, b.reads.slow = errBroken, slow
				got := b.handleBody(t, http.MethodPost, path, body, "Content-Type", "application/json")
				if log := b.log.String(); got.status != http.StatusNoContent || !strings.Contains(log, "Mark is in the ledger, but not yet in the inbox.") {
					t.Errorf("%s: %s: %d %s, log: %s", name, path, got.status, got.body, log)
				}
			}
		})
	}
}

func TestMarkRefusals(t *testing.T) {
	t.Parallel()
	b := setup(t)
	const notice = "/api/v1/notices/n_abc/read"
	for _, tc := range []struct {
		path   string
		status int
		code   string
	}{
		{"?warehouse=119240&subscriber=user:1&subscriber=role:boss", 404, "notice_not_found"},
		{"?warehouse=119241&subscriber=user:1&subscriber=role:keeper", 404, "notice_not_found"},
		{"?warehouse=119240&subscriber=role:keeper", 400, "bad_subscriber"},
		{"?warehouse=119240&subscriber=role:keeper&subscriber=user:1&subscriber=user:2", 400, "bad_subscriber"},
		{"?warehouse=119240&subscriber=role:keeper,user:1", 400, "bad_subscriber"},
		{"?warehouse=119240&subscriber=shadow:x&subscriber=user:1", 400, "bad_subscriber"},
		{"?warehouse=119240", 400, "missing_parameter"},
		{"?warehouse=119240&subscriber=", 400, "missing_parameter"},
		{"?subscriber=user:1", 400, "missing_parameter"},
		{"?warehouse=a/b&subscriber=user:1", 400, "bad_warehouse"},
		{"?warehouse=1&warehouse=2&subscriber=user:1", 400, "repeated_parameter"},
		{"?warehouse=1&subscriber=user:1&by=me", 400, "unknown_parameter"},
	} {
		got := b.do(t, http.MethodPost, notice+tc.path, "")
		if p := got.asProblem(t); got.status != tc.status || p.Code != tc.code {
			t.Errorf("%s: %d %s (%s), want %d %s", tc.path, got.status, p.Code, p.Detail, tc.status, tc.code)
		}
	}
	if got := b.do(t, http.MethodGet, notice, ""); got.status != http.StatusMethodNotAllowed {
		t.Errorf("GET: %d", got.status)
	}
	b.marks.err = errBroken
	if got := b.do(t, http.MethodPost, notice+"?warehouse=119240&subscriber=user:1&subscriber=role:keeper", ""); got.status != 503 {
		t.Errorf("the ledger is away: %d %s", got.status, got.body)
	}
	if len(b.marks.marks) != 0 {
		t.Errorf("marked: %v", b.marks.marks)
	}
}
