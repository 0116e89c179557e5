package cli

import (
	"strings"
	"testing"
	"time"

	"tallyman/internal/testenv"
	"tallyman/internal/wire"
)

func TestAuditTable(t *testing.T) {
	t.Parallel()
	out := &testenv.Output{}
	writeAudit(out, 200, &wire.AuditForm{})
	if got := out.String(); got != "No changes match.\n" {
		t.Errorf("got %q", got)
	}
	out = &testenv.Output{}
	writeAudit(out, 200, &wire.AuditForm{Cursor: "7", Changes: []wire.AuditChangeForm{{
		ID: 8, At: time.Date(2026, 6, 1, 8, 0, 0, 0, time.UTC), By: "user:ann", Via: "cli", Action: "rule.disable", Object: "rule:a",
		After: wire.AuditState(`{"at":"2026-06-01T08:00:00Z","by":"user:ann","state":"disabled","until":null}`), Reason: "stocktake",
	}}})
	for _, want := range []string{"2026-06-01 08:00:00Z", "user:ann", "rule.disable", "rule:a", "state=disabled ", "stocktake", "--after 7"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %s in\n%s", want, out)
		}
	}
	for state, want := range map[string]string{
		`{"name":"` + strings.Repeat("ü", 100) + `"}`:                              "name=" + strings.Repeat("ü", 55) + "…",
		`{"asked":{"filter":{"sink":"gateway"}},"done":{"changed":2,"ids":[4,5]}}`: "sink=gateway changed=2 ids=4 5",
		`{"subscriptions":[{"type":"A"},{"type":"B"}]}`:                            "subscriptions (2)",
		``: "", `{"list":[]}`: "",
	} {
		if _, got := short(nil, wire.AuditState(state)); got != want {
			t.Errorf("%s is shown as %q", state, got)
		}
	}
	from, to := short(wire.AuditState(`{"activeUntil":"9","matchers":["rule=x"],"state":"active"}`), wire.AuditState(`{"endedBy":"user:bo","matchers":["rule=x"],"state":"expired"}`))
	if from != "state=active activeUntil=9" || to != "state=expired endedBy=user:bo" {
		t.Errorf("from %q to %q", from, to)
	}
}
