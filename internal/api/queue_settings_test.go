package api_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"tallyman/internal/item"
	"tallyman/internal/ledger"
)

// A setting of an operator is shown beside the configured setting. A setting that a change does not name stays as it
// is.
func TestQueueSettings(t *testing.T) {
	t.Parallel()
	b := setup(t)
	const path = queuePath + "/settings"
	configured := `"configured":{"timezone":"Asia/Shanghai","lease":"1m","maxAttempts":5,"dedupe":"day","suspendSteps":["2h","12h"],"events":{"sink":"gateway","on":["ready_again","dead"]}}`
	for _, c := range []struct{ method, body, inForce, live string }{
		{"GET", "", `"lease":"1m","maxAttempts":5,"dedupe":"day","suspendSteps":["2h","12h"]`, `[]}`},
		{"POST", `{"maxAttempts":0}`, `"lease":"1m","maxAttempts":0,"dedupe":"day","suspendSteps":["2h","12h"]`, `["maxAttempts"],"by":"anonymous"`},
		{"POST", `{"lease":"1h30m","suspendSteps":[]}`, `"lease":"1h30m","maxAttempts":0,"dedupe":"day","suspendSteps":[]`, `["lease","maxAttempts","suspendSteps"],`},
		{"POST", `{"suspendSteps":["1m","2d"],"reset":["maxAttempts"]}`, `"lease":"1h30m","maxAttempts":5,"dedupe":"day","suspendSteps":["1m","48h"]`, `["lease","suspendSteps"],`},
		{"GET", "", `"lease":"1h30m","maxAttempts":5,"dedupe":"day","suspendSteps":["1m","48h"]`, `["lease","suspendSteps"],`},
	} {
		got := b.do(t, c.method, path, c.body)
		if got.status != http.StatusOK || !strings.Contains(got.body, configured) || !strings.Contains(got.body, `"inForce":{"timezone":"Asia/Shanghai",`+c.inForce) ||
			!strings.Contains(got.body, `"live":`+c.live) {
			t.Errorf("%s %s: %d %s", c.method, c.body, got.status, got.body)
		}
	}
	for _, query := range []string{"", "?test=true"} { // the twin has the same
		if got := b.do(t, "GET", queuePath+query, ""); !strings.Contains(got.body, `"lease":"1h30m","maxAttempts":5`) {
			t.Errorf("%s", got.body)
		}
	}
	orders := b.queue[0].ordered()
	if len(orders) != 3 || orders[0].Action != "queue.settings" || orders[0].Object != "queue:replenishment" || orders[0].By != "anonymous" {
		t.Errorf("ordered %+v", orders)
	}
}

func TestQueueSettingsThatAreRefused(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for _, c := range []struct {
		body, at string
		err      error
	}{
		{`{"lease":"1x"}`, "body.lease", nil},
		{`{"lease":"-1m"}`, "body.lease", nil},
		{`{"maxAttempts":-1}`, "body.maxAttempts", nil},
		{`{"maxAttempts":"none"}`, "body.maxAttempts", nil},
		{`{"suspendSteps":["1h","soon"]}`, "body.suspendSteps[1]", nil},
		{`{"reset":["dedupe"]}`, "body.reset[0]", nil},
		{`{"timezone":"UTC"}`, "body.timezone", nil},
		{`{"lease":"25h"}`, "body.lease", &item.InvalidError{Field: "lease", Index: -1, Message: "is 25h, at most 24h is possible"}},
	} {
		b.queue[0].err = c.err
		if got := b.do(t, "POST", queuePath+"/settings", c.body); got.status != http.StatusUnprocessableEntity || !strings.Contains(got.body, `"`+c.at+`"`) {
			t.Errorf("%s: %d %s", c.body, got.status, got.body)
		}
	}
	b.queue[0].err = nil
	if got := b.do(t, "GET", queuePath+"/settings", ""); !strings.Contains(got.body, `"live":[]`) {
		t.Errorf("what was refused has changed something: %s", got.body)
	}
	b.queue[0].err = errors.Join(ledger.ErrNotRecorded)
	if got := b.do(t, "POST", queuePath+"/settings", `{"lease":"2m"}`); got.status != http.StatusServiceUnavailable || !strings.Contains(got.body, "audit_unavailable") {
		t.Errorf("%d %s", got.status, got.body)
	}
	if got := b.do(t, "GET", "/api/v1/queues/nothing/settings", ""); got.status != http.StatusNotFound {
		t.Errorf("%d %s", got.status, got.body)
	}
}
