package engine_test

import (
	"fmt"
	"strings"
	"testing"

	"tallyman/internal/ledger"
	"tallyman/rules"
	"tallyman/rules/row"
)

// Rows that cannot be judged cause an alert like a failed run, as soon as they are as many as the rule says. The alert
// ends when they are fewer.
func TestRowsThatCannotBeJudgedAreTold(t *testing.T) {
	for name, c := range map[string]struct {
		limit       rules.Unjudged
		below, from int // of 49 rows
	}{
		"any":   {rules.Unjudged{}, 0, 1},
		"count": {rules.Unjudged{Rows: 5}, 4, 5},
		"share": {rules.Unjudged{Percent: 10}, 4, 5}, // 4.9
		"all":   {rules.Unjudged{Percent: 100}, 48, 49},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(w *world) {
				r := w.rules[0]
				r.When, r.OnError, r.Unjudged, r.Key = "int(bin_code) > 1000", rules.PolicyAlert, c.limit, []string{"bin_code"}
				table := func(unjudged int) {
					var rows [][]row.Value
					for i := range 49 {
						bin := fmt.Sprint(i)
						if i < unjudged {
							bin = "bin " + bin
						}
						rows = append(rows, stock(bin, 1))
					}
					w.set(rows...)
				}
				w.start(w.options("a"))
				table(c.below)
				pass(6 * m)
				same(t, w.told(), nil)
				table(c.from)
				pass(5 * m)
				same(t, w.told(), []string{"firing Rule cannot judge rows: negative-bin-stock"})
				want := fmt.Sprintf("%d of 49 rows could not be judged, or their notices could not be made; for example: ", c.from)
				if n := w.notices()[0]; n.Type != "TALLYMAN_RULE_FAILED" || n.Key != `"on_error"` || !strings.Contains(n.Body, want) || n.Data[0].Value != "unjudged" {
					t.Errorf("%+v", n)
				}
				pass(5 * m)
				table(c.below)
				pass(5 * m)
				same(t, w.told()[1:], []string{"resolved Resolved: Rule cannot judge rows: negative-bin-stock"})
				if runs := w.ledger.Runs(); runs[1].Outcome != ledger.OutcomeDegraded || runs[1].Errored != c.from {
					t.Errorf("%+v", runs[1])
				}
			})
		})
	}
}

// A rule without that setting sends no alert.
func TestRowsThatCannotBeJudgedAreKept(t *testing.T) {
	inWorld(t, func(w *world) {
		w.rules[0].When = "int(bin_code) > 1000"
		w.set(stock("bin", 1))
		w.start(w.options("a"))
		pass(11 * m)
		same(t, w.told(), nil)
	})
}
