package trial_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"tallyman/engine/enginetest"
	"tallyman/engine/trial"
	"tallyman/internal/ledger"
	"tallyman/rules"
	"tallyman/rules/catalog"
	"tallyman/rules/deliver"
	"tallyman/rules/row"
	"tallyman/scanners"
)

var repNotice = catalog.Type{
	Code: "REP_NOTICE", ID: 124719, Name: "Replenishment notice", Retention: 72 * time.Hour,
	Fields: map[string]catalog.Field{"bin": {Type: catalog.String, Required: true}, "qty": {Type: catalog.Decimal}},
}

var stockColumns = []row.Column{
	{Name: "bin_code", Kind: row.Text}, {Name: "qty", Kind: row.Int, Nullable: true},
}

// stock is one row of the probe.
func stock(bin string, qty int64) []row.Value { return []row.Value{row.TextOf(bin), row.IntOf(qty)} }

// negativeStock is the rule of the tests: every five minutes, one finding for each negative bin.
func negativeStock() *rules.Rule {
	return &rules.Rule{
		ID: "negative-bin-stock", Scope: "119240", Enabled: true, Mode: rules.ModeState, Source: "wms",
		Labels:   map[string]string{"area": "replenishment"},
		Schedule: rules.Schedule{Cron: "*/5 * * * *", Overlap: rules.OverlapSkip, CatchUp: rules.CatchUpOnce},
		Probe:    rules.Probe{SQL: "SELECT bin_code, qty FROM bin_stock", Timeout: 5 * time.Second, MaxRows: 10000},
		When:     "qty < 0", Key: []string{"bin_code"}, NoData: rules.PolicyOK, OnError: rules.PolicyKeepLast,
		Notice: rules.Notice{
			Type: "REP_NOTICE", Priority: "qty < -100 ? 5 : 3", Modal: rules.ModalPopup, SendResolved: true, Expires: time.Hour,
			Title:  map[string]string{"": "Bin {{ .bin_code }} is at {{ .qty }}", "zh": "货位 {{ .bin_code }} 库存 {{ .qty }}"},
			Body:   map[string]string{"": "Replenish {{ .bin_code }}."},
			Fields: map[string]string{"bin": "bin_code", "qty": "qty"},
		},
		Deliver: []deliver.Entry{{Sink: "inbox"}},
	}
}

// trialOf is a trial of the rule whose probe answers what *rows and *fault hold.
func trialOf(t *testing.T, r *rules.Rule, start trial.Start, rows *[][]row.Value, fault *error) *trial.Trial {
	t.Helper()
	source := &enginetest.Source{Columns: stockColumns, Rows: func(context.Context, scanners.Request) ([][]row.Value, error) {
		return *rows, *fault
	}}
	try, err := trial.New(r, source, catalog.Catalog{repNotice.Code: repNotice}, start)
	if err != nil {
		t.Fatal(err)
	}
	if err := try.Verify(t.Context()); err != nil {
		t.Fatal(err)
	}
	return try
}

func TestTrialLivesAsTheEngineDoes(t *testing.T) {
	t.Parallel()
	var rows [][]row.Value
	var fault error
	rule := negativeStock()
	rule.For = 5 * time.Minute
	try := trialOf(t, rule, trial.Start{}, &rows, &fault)
	due := time.Date(2026, 6, 1, 8, 0, 0, 0, time.UTC)
	step := func(want string, pending, firing int) {
		t.Helper()
		run, err := try.Run(t.Context(), due)
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
	states := try.Findings()
	if len(states) != 1 || try.Notice(states[0].NoticeID) == nil {
		t.Fatalf("findings %+v", states)
	}
	step("resolved Resolved: Bin A is at -3", 0, 0)
}

// TestTrialGoesOnFromWhatALedgerKnows also proves that two trials share no state.
func TestTrialGoesOnFromWhatALedgerKnows(t *testing.T) {
	t.Parallel()
	var fault error
	rows := [][]row.Value{stock("A", -3)}
	due := time.Date(2026, 6, 1, 8, 0, 0, 0, time.UTC)
	first := trialOf(t, negativeStock(), trial.Start{}, &rows, &fault)
	run, err := first.Run(t.Context(), due)
	if err != nil || run.Run.Notices != 1 {
		t.Fatalf("%+v, %v", run, err)
	}
	start := trial.Start{Findings: first.Findings()}
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
	try, err := trial.New(rule, &enginetest.Source{Columns: stockColumns}, catalog.Catalog{repNotice.Code: repNotice}, trial.Start{})
	if err != nil {
		t.Fatal(err)
	}
	if err := try.Verify(t.Context()); err == nil {
		t.Fatal("a rule with an unknown column is verified")
	}
}

// A trial keeps its rows in memory, so their number is bounded, even where a watermark would let it read more.
func TestTrialHasABound(t *testing.T) {
	t.Parallel()
	var fault error
	rows := make([][]row.Value, 100_001)
	for i := range rows {
		rows[i] = stock("A", int64(i))
	}
	rule := negativeStock()
	rule.Probe.MaxRows = 1_000_000
	try := trialOf(t, rule, trial.Start{}, &rows, &fault)
	run, err := try.Run(t.Context(), time.Date(2026, 6, 1, 8, 0, 0, 0, time.UTC))
	if err != nil || run.Run.Outcome != ledger.OutcomeFailed || !strings.HasPrefix(run.Run.Error, "too_many_rows: a trial keeps at most 100000 rows") {
		t.Fatalf("%+v, %v", run.Run, err)
	}
}
