package authoring

import (
	"context"
	"fmt"
	"time"

	"tallyman/engine/judge"
	"tallyman/internal/ledger"
	"tallyman/rules"
	"tallyman/rules/problem"
	"tallyman/rules/strictyaml"
	"tallyman/scanners"
)

// codeLookBack is the code of the note about the cost of a look-back.
const codeLookBack = "look_back"

// lookBackPath returns the path of the field that sets the rule's look-back. Where no field sets it, lookBackPath
// returns the path of the watermark's columns.
func lookBackPath(r *rules.Rule) string {
	if r.Probe.Watermark.LookBack != nil {
		return "probe.watermark.look_back"
	}
	return "probe.watermark.columns"
}

// lookBackCost notes the cost of reading again below the watermark. It returns nothing for a rule that does not look
// back.
func lookBackCost(r *rules.Rule) problem.List {
	back := r.Probe.Watermark.LooksBack()
	if back.IsZero() {
		return nil
	}
	window := "the rows that came up in the last " + back.String()
	if back.Numbers > 0 {
		window = fmt.Sprintf("the rows of the last %s numbers of %s", back, r.Probe.Watermark.Columns[0])
	}
	if r.Probe.Watermark.LookBack == nil {
		window += ", by default"
	}
	return problem.List{r.Problem(lookBackPath(r), codeLookBack, fmt.Sprintf(
		"each run reads again %s; the ledger keeps %d bytes for each of these rows, and a run with more than %d of them fails", window, ledger.SeenHash, judge.MostSeen), "")}
}

// checkTransactions warns of each rule whose look-back is shorter than the age of an open transaction. It needs a
// source that tells about transactions.
func (s *sourceCheck) checkTransactions(ctx context.Context, source scanners.Source) {
	watcher, ok := source.(scanners.TransactionWatcher)
	if !ok {
		return
	}
	var waiting []*rules.Rule
	for _, c := range s.checks {
		if c.rule.Probe.Watermark.LooksBack().Time > 0 {
			waiting = append(waiting, c.rule)
		}
	}
	if len(waiting) == 0 {
		return
	}
	open, err := watcher.OpenTransactions(ctx)
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case err != nil:
		s.notes = append(s.notes, s.transactionNote(waiting[0], fmt.Sprintf("the source %s does not tell which transactions are open: %v", s.name, err), ""))
		return
	case open.Hidden > 0:
		s.notes = append(s.notes, s.transactionNote(waiting[0], fmt.Sprintf(
			"the user of the source %s may not see the transactions of %d sessions: whether transactions last longer than look_back is not checked for them", s.name, open.Hidden),
			"a DBA may grant it: GRANT pg_read_all_stats TO the user of the source"))
	}
	for _, r := range waiting {
		s.lints = append(s.lints, longTransactions(r, open.Ages)...)
	}
}

func (s *sourceCheck) transactionNote(r *rules.Rule, message, hint string) problem.Problem {
	p := r.Problem("source", string(scanners.CodeLong), message, hint)
	p.Rule = ""
	return p
}

// longTransactions warns where transactions have been open for longer than the look-back of the rule.
func longTransactions(r *rules.Rule, ages []time.Duration) problem.List {
	back := r.Probe.Watermark.LooksBack().Time
	count, longest := 0, time.Duration(0)
	for _, age := range ages {
		if age > back {
			count++
			longest = max(longest, age)
		}
	}
	if count == 0 {
		return nil
	}
	transactions := "transactions that have written are"
	if count == 1 {
		transactions = "transaction that has written is"
	}
	return problem.List{r.Problem(lookBackPath(r), string(scanners.CodeLong), fmt.Sprintf(
		"%d %s open for longer than look_back: %s, the longest for %s: when it commits, its rows may be missed",
		count, transactions, strictyaml.FormatDuration(back), strictyaml.FormatDuration(longest.Truncate(time.Second))),
		"end such transactions, or make look_back longer than the longest one")}
}
