package engine_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"tallyman/internal/ledger"
	"tallyman/rules"
	"tallyman/rules/row"
	"tallyman/scanners"
)

// byTimeAlone leaves the rule a watermark that several rows may share.
func byTimeAlone(w *world, n *needs, maxRows int) {
	r := w.rules[0]
	r.Probe.Watermark.Columns, r.Probe.Watermark.Initial = []string{"changed_at"}, map[string]any{"changed_at": "-1h"}
	r.Probe.MaxRows = maxRows
	w.source.Rows = func(ctx context.Context, req scanners.Request) ([][]row.Value, error) {
		req.Args["wm_id"] = row.IntOf(1 << 40) // changed_at > :wm_changed_at
		return n.scan(ctx, req)
	}
}

// The cap may cut between rows of one watermark. Those behind the cut must not be lost.
func TestRowsOfOneWatermarkStayTogether(t *testing.T) {
	inEventWorld(t, func(w *world, n *needs) {
		byTimeAlone(w, n, 10)
		var want []string
		for i := range 30 { // seven rows a second
			n.table = append(n.table, need{int64(i), fmt.Sprintf("A-%02d", i), 1, midnight.Add(time.Duration(i/7) * time.Second)})
			want = append(want, fmt.Sprintf("event Replenish A-%02d: 1", i))
		}
		w.start(w.options("a"))
		pass(3 * m)
		if got := w.told(); !slices.Equal(got, want) {
			t.Errorf("told %q", got)
		}
		if run := w.ledger.Runs()[0]; run.Outcome != ledger.OutcomeOK || run.Notices != 30 || run.Rows != 10+10+10+9 {
			t.Errorf("the last pass reads what is left: %+v", run)
		}
	})
}

func TestMoreRowsOfOneWatermarkThanMaxRows(t *testing.T) {
	inEventWorld(t, func(w *world, n *needs) {
		byTimeAlone(w, n, 10)
		for i := range 11 {
			n.table = append(n.table, need{int64(i), "A", 1, midnight})
		}
		w.start(w.options("a"))
		pass(3 * m)
		if run := w.ledger.Runs()[0]; run.Outcome != ledger.OutcomeFailed || len(w.told()) != 0 ||
			run.Error != "watermark_tied: more than 10 rows have the same watermark: raise probe.max_rows, or add a column to the watermark that tells them apart" {
			t.Errorf("%+v", run)
		}
	})
}

// "-1h" counts back from the first run, whether it succeeds or not: what it would have seen is not lost.
func TestFailedFirstRunKeepsTheBeginning(t *testing.T) {
	inEventWorld(t, func(w *world, n *needs) {
		n.table = []need{{1, "A-01", 5, midnight.Add(3*m - time.Hour)}}
		var fault cell[error]
		w.source.Rows = func(ctx context.Context, req scanners.Request) ([][]row.Value, error) {
			if err := fault.get(); err != nil {
				return nil, err
			}
			return n.scan(ctx, req)
		}
		fault.set(&scanners.Error{Code: scanners.CodeStatement, Err: errors.New("no such function")})
		w.start(w.options("a"))
		pass(5 * m) // due 2 and 4 fail
		fault.set(nil)
		pass(2 * m)
		w.wantDues("2 failed", "4 failed", "6 ok")
		if got := w.told(); len(got) != 1 {
			t.Errorf("told %q", got)
		}
	})
}

// A rule that was of mode state leaves findings that nothing would ever resolve.
func TestFindingsOfAnotherModeAreClosed(t *testing.T) {
	inEventWorld(t, func(w *world, n *needs) {
		state := negativeStock()
		state.ID = w.rules[0].ID
		event := w.rules
		w.rules = []*rules.Rule{state}
		w.source.Columns = stockColumns
		w.source.Rows = func(context.Context, scanners.Request) ([][]row.Value, error) { return w.current(), nil }
		w.set(stock("A-01", -3))
		a := w.start(w.options("a"))
		pass(6 * m)
		a.stop()

		w.rules, w.source.Columns, w.source.Rows = event, needColumns, n.scan
		w.start(w.options("a"))
		pass(4 * m)
		if left, err := w.ledger.Findings(t.Context(), state.ID, state.Scope); err != nil || len(left) != 0 {
			t.Errorf("left %v, %v", left, err)
		}
		if run := w.ledger.Runs()[1]; run.Outcome != ledger.OutcomeOK || run.Firing != 0 || len(w.told()) != 1 {
			t.Errorf("%+v, told %q", run, w.told())
		}
	})
}
