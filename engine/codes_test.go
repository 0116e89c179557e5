package engine_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"tallyman/docs/codetest"
	"tallyman/engine/enginetest"
	"tallyman/engine/trial"
	"tallyman/rules/catalog"
	"tallyman/rules/row"
	"tallyman/scanners"
)

// The codes of failed runs that no rule causes. The other codes are tested in internal/app.

func TestErrorCodeOfARefusedCommit(t *testing.T) {
	inWorld(t, func(w *world) {
		fails := 0
		w.ledger.Fail = func(method string) error {
			if method == "Commit" && fails < 5 { // then it takes the failed run
				fails++
				return errors.New(`ERROR: could not extend file "base/16384/16412": No space left on device (SQLSTATE 53100)`)
			}
			return nil
		}
		w.start(w.options("a"))
		pass(6 * m)
		holdError(t, "commit_refused", w.ledger.Runs()[0].Error)
	})
}

func TestErrorCodeOfAPanic(t *testing.T) {
	t.Parallel()
	source := &enginetest.Source{Columns: stockColumns, Rows: func(context.Context, scanners.Request) ([][]row.Value, error) {
		rows := make([][]row.Value, 3)
		return [][]row.Value{rows[len(rows)]}, nil
	}}
	try, err := trial.New(negativeStock(), source, catalog.Catalog{repNotice.Code: repNotice}, trial.Start{})
	if err == nil {
		err = try.Verify(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	run, err := try.Run(t.Context(), time.Date(2026, 6, 1, 8, 0, 0, 0, time.UTC))
	if err != nil {
		t.Fatal(err)
	}
	holdError(t, "panic", run.Run.Error)
}

func holdError(t *testing.T, code, got string) {
	t.Helper()
	codetest.Outcome(t, "../docs/reference/error-codes.md", "Failed runs", code, got+"\n")
}
