package demo

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"text/tabwriter"

	"tallyman/internal/ledger"
	"tallyman/internal/notice"
)

// tally is one rule's line of the summary, over all its scopes.
type tally struct {
	found, open, notified, resolved int64
}

// summary prints what was found, notified and resolved, as the ledger has it.
func (s *show) summary(ctx context.Context) error {
	tallies, err := count(ctx, s.node.Ledger())
	if err != nil {
		return fmt.Errorf("sum up: %w", err)
	}
	work, err := countWork(ctx, s.node.Ledger())
	if err != nil {
		return fmt.Errorf("sum up the work: %w", err)
	}
	n := s.narrator
	n.mu.Lock()
	defer n.mu.Unlock()
	w := tabwriter.NewWriter(n.out, 0, 0, 2, ' ', tabwriter.AlignRight)
	_, _ = fmt.Fprintln(n.out)
	_, _ = fmt.Fprintln(w, "found\tnotified\tresolved\tstill open\t  rule")
	var all tally
	for _, rule := range slices.Sorted(maps.Keys(tallies)) {
		t := tallies[rule]
		_, _ = fmt.Fprintf(w, "%d\t%d\t%d\t%d\t  %s\n", t.found, t.notified, t.resolved, t.open, rule)
		all.found, all.open = all.found+t.found, all.open+t.open
		all.notified, all.resolved = all.notified+t.notified, all.resolved+t.resolved
	}
	_, _ = fmt.Fprintf(w, "%d\t%d\t%d\t%d\t  all\n", all.found, all.notified, all.resolved, all.open)
	if err := w.Flush(); err != nil {
		return fmt.Errorf("sum up: %w", err)
	}
	if all.notified > all.found {
		_, _ = fmt.Fprintln(n.out, "\nA finding that grows worse is notified again.")
	}
	_, err = fmt.Fprintf(n.out, "\nThe WMS clients polled %d notices, %d of them twice.\n%s\n", n.got, n.twice, work)
	return err //nolint:wrapcheck // the terminal is gone
}

// count reads the tallies. An event is found and told in one; it does not stay open.
func count(ctx context.Context, l ledger.Runs) (map[string]*tally, error) {
	tallies := map[string]*tally{}
	of := func(rule string) *tally {
		if tallies[rule] == nil {
			tallies[rule] = &tally{}
		}
		return tallies[rule]
	}
	runs, err := l.LastRuns(ctx)
	if err != nil {
		return nil, err
	}
	for _, r := range runs {
		t, open := of(r.Rule), int64(r.Pending+r.Firing)
		t.found, t.open = t.found+open, t.open+open
	}
	totals, err := l.Totals(ctx)
	if err != nil {
		return nil, err
	}
	for _, total := range totals {
		t := of(total.Rule)
		switch notice.Status(total.Status) {
		case notice.Resolved:
			t.found, t.resolved = t.found+total.Count, t.resolved+total.Count
		case notice.Event:
			t.found, t.notified = t.found+total.Count, t.notified+total.Count
		case notice.Firing, notice.Sent:
			t.notified += total.Count
		}
	}
	return tallies, nil
}
