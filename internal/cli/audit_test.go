package cli

import (
	"strings"
	"testing"
	"time"

	"tallyman/internal/api"
	"tallyman/internal/testenv"
)

func TestAuditTable(t *testing.T) {
	t.Parallel()
	out := &testenv.Output{}
	writeAudit(out, 200, &api.AuditForm{})
	if got := out.String(); got != "There are no such changes.\n" {
		t.Errorf("got %q", got)
	}
	out = &testenv.Output{}
	writeAudit(out, 200, &api.AuditForm{Cursor: "7", Changes: []api.AuditChangeForm{{
		ID: 8, At: time.Date(2026, 6, 1, 8, 0, 0, 0, time.UTC), By: "user:ann", Via: "cli", Action: "rule.disable", Object: "rule:a",
		After: api.State(`{"state":"disabled"}`), Reason: "stocktake",
	}}})
	for _, want := range []string{"2026-06-01 08:00:00Z", "user:ann", "rule.disable", "rule:a", `{"state":"disabled"}`, "stocktake", "--after 7"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %s in\n%s", want, out)
		}
	}
	if long := short(api.State(`"` + strings.Repeat("ü", 100) + `"`)); len([]rune(long)) != longestState+1 {
		t.Errorf("a long state is shown as %q", long)
	}
}
