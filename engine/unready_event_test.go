package engine_test

import (
	"errors"
	"testing"

	"tallyman/internal/ledger"
	"tallyman/rules"
	"tallyman/scanners"
)

// A rule of mode event that was never verified has no watermark to begin with when it tells of its failed run.
func TestUnverifiedEventsTellOfFailedRuns(t *testing.T) {
	inWorld(t, func(w *world) {
		r := negativeStock()
		r.Mode, r.OnError, r.NoData, r.Notice.SendResolved = rules.ModeEvent, rules.PolicyAlert, "", false
		r.Probe.SQL = "SELECT bin_code, qty FROM bin_stock WHERE qty < :wm_qty"
		r.Probe.Watermark = &rules.Watermark{Columns: []string{"qty"}, Initial: map[string]any{"qty": int64(0)}}
		w.rules = []*rules.Rule{r}
		w.source.Break(&scanners.Error{Code: scanners.CodeUnreachable, Transient: true, Err: errors.New("no route")})
		w.start(w.options("a"))
		pass(12 * m)
		if got := w.outcomes(); len(got) != 2 || got[0] != ledger.OutcomeFailed {
			t.Errorf("outcomes %v", got)
		}
	})
}
