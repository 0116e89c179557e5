package engine_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"tallyman/engine"
	"tallyman/engine/enginetest"
	"tallyman/internal/ledger"
	"tallyman/rules"
	"tallyman/rules/catalog"
	"tallyman/rules/row"
	"tallyman/scanners"
)

// trialOf is a trial of the rule whose probe answers what *rows and *fault hold.
func trialOf(t *testing.T, r *rules.Rule, start engine.TrialStart, rows *[][]row.Value, fault *error) *engine.Trial {
	t.Helper()
	source := &enginetest.Source{Columns: stockColumns, Rows: func(context.Context, scanners.Request) ([][]row.Value, error) {
		return *rows, *fault
	}}
	trial, err := engine.NewTrial(r, source, catalog.Catalog{repNotice.Code: repNotice}, start)
	if err != nil {
		t.Fatal(err)
	}
	if err := trial.Verify(t.Context()); err != nil {
		t.Fatal(err)
	}
	return trial
}

func TestTrialLivesAsTheEngineDoes(t *testing.T) {
	t.Parallel()
	var rows [][]row.Value
	var fault error
	rule := negativeStock()
	rule.For = 5 * time.Minute
	trial := trialOf(t, rule, engine.TrialStart{}, &rows, &fault)
	due := time.Date(2026, 6, 1, 8, 0, 0, 0, time.UTC)
	step := func(want string, pending, firing int) {
		t.Helper()
		run, err := trial.Run(t.Context(), due)
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		for _, c := range run.Commits {
			for _, n := range c.Notices {
				got += string(n.Notice.Status) + " " + n.Notice.Title
			}
		}
		if got != want || run.Run.Pending != pending || run.Run.Firing != firing || len(run.Rows) != run.Run.Rows {
			t.Fatalf("at %s: told %q, want %q; %+v; %d rows", due, got, want, run.Run, len(run.Rows))
		}
		due = due.Add(5 * time.Minute)
	}
	rows = [][]row.Value{stock("A", -3), stock("B", 2)}
	step("", 1, 0)
	step("firing Bin A is at -3", 0, 1)
	fault = errors.New("away")
	rows = nil
	step("", 0, 1)
	fault = nil
	states := trial.Findings()
	if len(states) != 1 || trial.Notice(states[0].NoticeID) == nil {
		t.Fatalf("findings %+v", states)
	}
	step("resolved Resolved: Bin A is at -3", 0, 0)
}

// TestTrialGoesOnFromWhatALedgerKnows also proves that two trials do not share what they know.
func TestTrialGoesOnFromWhatALedgerKnows(t *testing.T) {
	t.Parallel()
	var fault error
	rows := [][]row.Value{stock("A", -3)}
	due := time.Date(2026, 6, 1, 8, 0, 0, 0, time.UTC)
	first := trialOf(t, negativeStock(), engine.TrialStart{}, &rows, &fault)
	run, err := first.Run(t.Context(), due)
	if err != nil || run.Run.Notices != 1 {
		t.Fatalf("%+v, %v", run, err)
	}
	start := engine.TrialStart{Findings: first.Findings()}
	start.State.Scope = run.Commits[0].Scope
	second := trialOf(t, negativeStock(), start, &rows, &fault)
	if run, err = second.Run(t.Context(), due.Add(5*time.Minute)); err != nil || run.Run.Notices != 0 || run.Run.Firing != 1 {
		t.Fatalf("%+v, %v", run, err)
	}
	rows = nil
	if run, err = second.Run(t.Context(), due.Add(10*time.Minute)); err != nil || run.Run.Firing != 0 {
		t.Fatalf("%+v, %v", run, err)
	}
	if got := len(first.Findings()); got != 1 {
		t.Fatalf("the first trial has %d findings", got)
	}
}

func TestTrialTellsWhyARuleWouldNotRun(t *testing.T) {
	t.Parallel()
	rule := negativeStock()
	rule.When = "qtty < 0"
	trial, err := engine.NewTrial(rule, &enginetest.Source{Columns: stockColumns}, catalog.Catalog{repNotice.Code: repNotice}, engine.TrialStart{})
	if err != nil {
		t.Fatal(err)
	}
	if err := trial.Verify(t.Context()); err == nil {
		t.Fatal("a rule with an unknown column is verified")
	}
}

// A trial holds its rows, so that there is an end to them, also where a watermark would go on and on.
func TestTrialHasABound(t *testing.T) {
	t.Parallel()
	var fault error
	rows := make([][]row.Value, 100_001)
	for i := range rows {
		rows[i] = stock("A", int64(i))
	}
	rule := negativeStock()
	rule.Probe.MaxRows = 1_000_000
	trial := trialOf(t, rule, engine.TrialStart{}, &rows, &fault)
	run, err := trial.Run(t.Context(), time.Date(2026, 6, 1, 8, 0, 0, 0, time.UTC))
	if err != nil || run.Run.Outcome != ledger.OutcomeFailed || !strings.HasPrefix(run.Run.Error, "too_many_rows: more than 100000 rows") {
		t.Fatalf("%+v, %v", run.Run, err)
	}
}
