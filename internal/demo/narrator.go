package demo

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"
	"text/tabwriter"
	"time"

	"tallyman/internal/demo/warehouse"
	"tallyman/internal/item"
	"tallyman/internal/ledger"
	"tallyman/internal/notice"
)

// narrator prints what happens, one line for each event. It is safe for concurrent use.
type narrator struct {
	mu     sync.Mutex
	out    io.Writer
	colour bool
	seen   map[string]bool // The ids of printed notices. Each warehouse has one client, so no two clients poll the same notice.
	twice  int             // Notices that one client got twice. There should be none.
	got    int
}

func newNarrator(out io.Writer, colour bool) *narrator {
	return &narrator{out: out, colour: colour, seen: map[string]bool{}}
}

// Escape sequences of the terminal.
const (
	dim    = "\x1b[2m"
	bold   = "\x1b[1m"
	red    = "\x1b[31m"
	green  = "\x1b[32m"
	yellow = "\x1b[33m"
	blue   = "\x1b[34m"
	plain  = "\x1b[0m"
)

func (n *narrator) paint(style, text string) string {
	if !n.colour {
		return text
	}
	return style + text + plain
}

// happened prints an event of the warehouse.
func (n *narrator) happened(e warehouse.Event) {
	n.mu.Lock()
	defer n.mu.Unlock()
	_, _ = fmt.Fprintf(n.out, "%s\n", n.paint(dim, fmt.Sprintf("%s  %s    %s", e.At.Format("15:04"), e.Warehouse, e.Text)))
}

// noticed prints a notice that a WMS client polled.
func (n *narrator) noticed(p polledNotice) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.got++
	if n.seen[p.ID] {
		n.twice++
		return
	}
	n.seen[p.ID] = true
	sign, style := "!", yellow
	switch {
	case p.Status == "resolved":
		sign, style = "✓", green
	case p.Priority >= 4:
		sign, style = "!!", red
	}
	_, _ = fmt.Fprintf(n.out, "%s  %s %s %s %s\n", p.CreatedAt.Format("15:04"), p.Warehouse,
		n.paint(style, fmt.Sprintf("%2s", sign)), n.paint(bold, fmt.Sprintf("%-13s", p.Type)), p.Title)
}

// worked prints what a forklift does with an item of the queue.
func (n *narrator) worked(at time.Time, warehouse, who, text string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	_, _ = fmt.Fprintf(n.out, "%s  %s %s %s %s\n", at.Format("15:04"), warehouse, n.paint(blue, " →"), n.paint(bold, fmt.Sprintf("%-13s", who)), text)
}

// say prints the lines unchanged.
func (n *narrator) say(lines ...string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	_, _ = fmt.Fprintln(n.out, strings.Join(lines, "\n"))
}

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
	return err //nolint:wrapcheck // The only possible error is that the terminal is gone.
}

// count reads the tallies from the ledger. An event is found and notified at the same time, and never stays open.
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

const workPage = 1000 // Items per read.

// workCount counts the items of the queue by their ends.
type workCount struct {
	done, removed int // removed counts items whose finding was over before a worker leased them.
	left, putOff  int // left counts unfinished items. putOff counts those of them that are suspended or stored.
}

// countWork counts the items in the ledger.
func countWork(ctx context.Context, l ledger.Queues) (w workCount, err error) {
	if w.done, err = countEnded(ctx, l, item.Done); err != nil {
		return w, err
	}
	if w.removed, err = countEnded(ctx, l, item.Removed); err != nil {
		return w, err
	}
	for after := int64(0); ; {
		page, err := l.UnfinishedItems(ctx, queueName, after, workPage)
		if err != nil || len(page) == 0 {
			return w, err
		}
		for i := range page {
			w.left++
			if page[i].State == item.Suspended || page[i].State == item.Stored {
				w.putOff++
			}
		}
		after = page[len(page)-1].Seq
	}
}

func countEnded(ctx context.Context, l item.Records, state item.State) (n int, err error) {
	for before := int64(0); ; {
		page, next, err := l.EndedItems(ctx, queueName, state, nil, before, workPage)
		n += len(page)
		if err != nil || next == 0 {
			return n, err
		}
		before = next
	}
}

func (w workCount) String() string {
	return fmt.Sprintf("The queue had %d items: %d done, %d taken back because the bin was full again, %d left, %d of them put off.",
		w.done+w.removed+w.left, w.done, w.removed, w.left, w.putOff)
}
