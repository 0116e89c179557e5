package authoring

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"tallyman/docs/codetest"
	"tallyman/engine/enginetest"
	"tallyman/rules"
	"tallyman/rules/problem"
	"tallyman/scanners"
)

const moves = `version: 1
rules:
  - id: moves
    mode: event
    schedule: {cron: "* * * * *"}
    source: wms
    probe:
      sql: SELECT id, wh FROM moves WHERE id > :wm_id ORDER BY id
      watermark: {columns: [id], initial: {id: 0}LOOK_BACK}
    key: [id]
    notice: {type: REP_NOTICE, warehouse: wh, title: "Moved"}
    deliver: [{sink: inbox}]
`

func movesWith(t *testing.T, lookBack string) *rules.Rule {
	t.Helper()
	set := rules.LoadFile("moves.yaml", []byte(strings.Replace(moves, "LOOK_BACK", lookBack, 1)))
	if len(set.Problems) > 0 {
		t.Fatal(set.Problems)
	}
	return set.Rules[0]
}

func TestLookBackCost(t *testing.T) {
	t.Parallel()
	holdNote(t, "look_back", lookBackCost(movesWith(t, "")))
	const cost = "; the ledger keeps 16 bytes for each of these rows, and a run with more than 100000 of them fails"
	for lookBack, want := range map[string]string{
		"":                  "moves.yaml:9:28: look_back: each run reads again the rows that came up in the last 5m, by default" + cost,
		", look_back: 10m":  "moves.yaml:9:63: look_back: each run reads again the rows that came up in the last 10m" + cost,
		", look_back: 5000": "moves.yaml:9:63: look_back: each run reads again the rows of the last 5000 numbers of id" + cost,
		", look_back: 0":    "",
	} {
		if got := lookBackCost(movesWith(t, lookBack)).Error(); got != want {
			t.Errorf("%q:\n%s\nwant\n%s", lookBack, got, want)
		}
	}
}

// holdNote compares what is said with what error-codes.md shows.
func holdNote(t *testing.T, code string, said problem.List) {
	t.Helper()
	codetest.Outcome(t, "../../docs/reference/error-codes.md", "Failed runs", code, said.Error()+"\n")
}

// watched is a source that knows its transactions.
type watched struct {
	*enginetest.Source
	open scanners.OpenTransactions
	err  error
}

func (w watched) OpenTransactions(context.Context) (scanners.OpenTransactions, error) {
	return w.open, w.err
}

func TestLongTransactions(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		lookBack string
		open     scanners.OpenTransactions
		err      error
		lints    string
		notes    string
	}{
		"none": {open: scanners.OpenTransactions{Ages: []time.Duration{time.Second, 5 * time.Minute}}},
		"two": {
			open: scanners.OpenTransactions{Ages: []time.Duration{time.Second, 6 * time.Minute, 2*time.Hour + time.Millisecond}},
			lints: "moves.yaml:9:28: long_transactions: 2 transactions that have written are open for longer than look_back: 5m, the longest for 2h: " +
				"when it commits, its rows may be missed",
		},
		"a longer look-back": {lookBack: ", look_back: 3h", open: scanners.OpenTransactions{Ages: []time.Duration{2 * time.Hour}}},
		"no look-back":       {lookBack: ", look_back: 0", open: scanners.OpenTransactions{Ages: []time.Duration{2 * time.Hour}, Hidden: 2}},
		"hidden": {
			open: scanners.OpenTransactions{Hidden: 2},
			notes: "moves.yaml:6:13: long_transactions: the user of the source wms may not see the transactions of 2 sessions: " +
				"whether transactions last longer than look_back is not checked for them",
		},
		"an error": {err: errors.New("no"), notes: "moves.yaml:6:13: long_transactions: the source wms does not tell which transactions are open: no"},
	} {
		s := &sourceCheck{name: "wms", checks: []*ruleCheck{{rule: movesWith(t, c.lookBack)}}}
		s.checkTransactions(t.Context(), watched{&enginetest.Source{}, c.open, c.err})
		if name == "two" {
			holdNote(t, "long_transactions", s.lints)
		}
		if got := s.lints.Error(); got != c.lints {
			t.Errorf("%s: %s", name, got)
		}
		if got := s.notes.Error(); got != c.notes {
			t.Errorf("%s: %s", name, got)
		}
	}
}
