package condition_test

import (
	"strings"
	"testing"

	"tallyman/rules/condition"
)

func TestNames(t *testing.T) {
	t.Parallel()
	for src, want := range map[string]string{
		`qty < 0 and not (sku startsWith "TEST-") or qty > max`:        "qty sku max |",
		`let n = now() - at; n.Hours() > 3 and doc.wave.no == count`:   "at doc count | wave no",
		`row_count > 3 and any(rows, .qty < 0) and rows[0].bin == "A"`: "row_count rows | qty bin",
		`nosuch(qty)`: "qty |",
	} {
		columns, members, err := condition.Names(src)
		if got := strings.TrimSpace(strings.Join(columns, " ") + " | " + strings.Join(members, " ")); got != want || err != nil {
			t.Errorf("%s: got %q, want %q, %v", src, got, want, err)
		}
	}
	if _, _, err := condition.Names("qty <"); err == nil {
		t.Error("a broken expression was taken")
	}
}
