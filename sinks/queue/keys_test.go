package queue

import (
	"strings"
	"testing"

	"tallyman/internal/item"
)

func TestOfSeveralBadNamesTheFirstIsTold(t *testing.T) {
	t.Parallel()
	for range 100 {
		if _, err := newKeys("{p}", "{q}", false); err == nil || !strings.Contains(err.Error(), "prefix") {
			t.Fatal(err)
		}
	}
}

func TestScopeNames(t *testing.T) {
	t.Parallel()
	for want, scopes := range map[string][]item.Scope{
		"*":          {nil},
		"":           {{}, {""}},
		"119240":     {{"119240"}, {"", "119240"}, {"119240", ""}},
		"119240 W+2": {{"119240", "W 2"}, {"", "119240", "", "W 2"}},
	} {
		for _, scope := range scopes {
			if got := scopeNames(scope); got != want {
				t.Errorf("%q is %q, not %q", scope, got, want)
			}
		}
	}
}
