package postgres

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"tallyman/internal/finding"
	"tallyman/internal/item"
	"tallyman/internal/ledger"
)

// run commits a run that was due at the time and read that many rows.
func (d *dayLedger) run(t *testing.T, due time.Time, rows int) {
	t.Helper()
	c, err := d.Claim(t.Context(), "r", "", 0, due, "a", time.Hour)
	noError(t, err)
	d.finish(t, c, rows)
}

func (d *dayLedger) finish(t *testing.T, c ledger.Claim, rows int) {
	t.Helper()
	run := &ledger.Commit{Run: ledger.Run{Rule: "r", Node: "a", Due: c.Due, Started: d.now, Outcome: ledger.OutcomeOK, Rows: rows}, Scope: finding.Scope{LastDue: c.Due}}
	_, err := d.Commit(t.Context(), c, run)
	noError(t, err)
}

// hasRuns checks which runs are kept, by due time, the latest first.
func (d *dayLedger) hasRuns(t *testing.T, want ...time.Time) {
	t.Helper()
	runs, err := d.Runs(t.Context(), "r", nil, 100)
	noError(t, err)
	got := make([]time.Time, len(runs))
	for i := range runs {
		got[i] = runs[i].Due
	}
	if !slices.EqualFunc(got, want, time.Time.Equal) {
		t.Fatalf("there are runs due at %v, not at %v", got, want)
	}
}

// TestRunsGoWithTheirDay has a rule run on several days. One run is claimed before midnight and ends after it. One
// comes when its day has no partition. The last one stays as long as no other follows.
func TestRunsGoWithTheirDay(t *testing.T) {
	t.Parallel()
	d := newDayLedger(t)
	prune := func() {
		t.Helper()
		_, err := d.Prune(t.Context(), d.now.AddDate(0, 0, -30), 100)
		noError(t, err)
	}
	isIn := func(due time.Time, want string) {
		t.Helper()
		if got := d.table(t, "(SELECT tableoid, last_due FROM firings UNION ALL SELECT tableoid, last_due FROM past_firings)", "last_due", fmt.Sprint(due.UnixMicro())); got != want {
			t.Errorf("the run due at %s is in %q, not in %q", due, got, want)
		}
	}
	early := d.now.AddDate(0, 0, -1)
	d.run(t, early, 1)
	prune()
	midnight := time.Date(2026, 6, 2, 0, 0, 0, 0, time.UTC)
	d.now = midnight.Add(-time.Second)
	c, err := d.Claim(t.Context(), "r", "", 0, d.now, "a", time.Hour)
	noError(t, err)
	late := d.now
	d.now = midnight.Add(time.Minute)
	d.finish(t, c, 2)
	d.run(t, d.now, 3)
	last := d.now
	isIn(early, "past_firings_rest")
	isIn(late, "past_firings_20260601")
	isIn(last, "firings")
	d.hasRuns(t, last, late, early)

	// The ledger recognizes a repeated commit even after later firings.
	run := &ledger.Commit{Run: ledger.Run{Rule: "r", Node: "a", Due: late, Started: last, Outcome: ledger.OutcomeOK, Rows: 2}, Scope: finding.Scope{LastDue: late}}
	_, err = d.Commit(t.Context(), c, run)
	noError(t, err)

	d.now = midnight.AddDate(0, 0, 31)
	prune() // removes the run of May from past_firings_rest
	d.hasRuns(t, last, late)
	d.now = midnight.AddDate(0, 0, 34)
	prune()
	d.hasRuns(t, last)
	d.run(t, d.now, 1)
	d.hasRuns(t, d.now, last) // it lies in past_firings_rest
	isIn(last, "past_firings_rest")
	prune()
	d.hasRuns(t, d.now)
}

// TestTracesGoWithTheDayOfTheirItem has items wait, move and end on several days. The moves of each item lie
// together, stay as long as the item, and go with its day.
func TestTracesGoWithTheDayOfTheirItem(t *testing.T) {
	t.Parallel()
	d := newDayLedger(t)
	d.now = time.Now().UTC() // the migration has started the numbers of items at this day
	first := dayOf(d.now.UnixMicro())
	noError(t, d.BeginEpoch(t.Context(), "q", "", ledger.IndexState{Epoch: "e1"}, "a", 0))
	prune := func() {
		t.Helper()
		_, err := d.Prune(t.Context(), d.now.AddDate(0, 0, -30), 100)
		noError(t, err)
	}
	seqs := map[string]int64{}
	var position int64
	push := func(id string) {
		t.Helper()
		known, err := d.PushItems(t.Context(), "q", []item.Record{{New: item.New{ID: id, Priority: 3, Created: d.now}, State: item.Ready}})
		noError(t, err)
		seqs[id] = known[0].Seq
	}
	move := func(id string, n int64, from, to item.State) {
		t.Helper()
		position++
		noError(t, d.ApplyMoves(t.Context(), "q", "e1", []item.Moves{{Position: position, List: []item.Move{{Seq: seqs[id], N: n, At: d.now, From: from, To: to}}}}))
	}
	has := func(id, table string, moves int) {
		t.Helper()
		if got := d.table(t, "item_moves", "seq", fmt.Sprint(seqs[id])); got != table {
			t.Errorf("the moves of %s are in %q, not in %q", id, got, table)
		}
		_, trace, err := d.ItemTrace(t.Context(), "q", id)
		if table == "" {
			return
		}
		noError(t, err)
		if len(trace) < moves {
			t.Errorf("%s has %d moves of %d", id, len(trace), moves)
		}
	}
	prune()
	for _, id := range []string{"short", "waits", "late"} {
		push(id)
		move(id, 1, item.Ready, item.Leased)
	}
	move("short", 2, item.Leased, item.Done)
	day := partitionOf("item_moves", first)
	has("short", day, 2)
	d.now = d.now.AddDate(0, 0, 1)
	prune()
	push("next")
	move("next", 1, item.Ready, item.Leased)
	has("next", partitionOf("item_moves", first+1), 1)
	d.now = d.now.AddDate(0, 0, 28)
	move("late", 2, item.Leased, item.Done)
	has("late", day, 2)
	d.now = d.now.AddDate(0, 0, 4) // the day is dropped
	prune()
	has("short", "", 0)
	has("waits", "item_moves_rest", 1)
	has("late", "item_moves_rest", 2)
	move("waits", 2, item.Leased, item.Done)
	has("waits", "item_moves_rest", 2)
	d.now = d.now.AddDate(0, 0, 31)
	prune()
	has("waits", "", 0)
	has("late", "", 0)
	has("next", "item_moves_rest", 1) // the item is still leased
}
