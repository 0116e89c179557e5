package overview

import (
	"context"
	"maps"
	"time"

	"tallyman/internal/ledger"
)

// A notice can reach the ledger later than its creation time says. Counts of an hour or a minute are final this long
// after the end of the hour or the minute.
const (
	hourSettles   = 5 * time.Minute
	minuteSettles = 2 * time.Minute
)

// hoursShown is the number of hours in an overview, with the hour that is not over yet.
const hoursShown = 24

// minutesKept is how long counts of single minutes are kept: for charts of minutes, and until the sample of an hour is
// recorded.
const minutesKept = 2 * time.Hour

type (
	// noticeCounts caches counts of notices: final counts of hours, and counts of the minutes since then. So the ledger
	// counts each hour once, and later only the few minutes that can still grow.
	noticeCounts struct {
		ledger  Ledger
		hours   map[time.Time]tallies // By start.
		minutes map[time.Time]tallies
		settled time.Time // Counts of minutes before this time are final.
	}
	tally   struct{ count, urgent int64 }
	tallies map[ledger.Cell]tally
	// counted is the counts for an overview.
	counted struct {
		hours    []countedHour
		lastHour tallies
		minutes  map[time.Time]tallies // At least the last minutesKept.
	}
	countedHour struct {
		start   time.Time
		tallies tallies
	}
)

func (t tallies) add(cell ledger.Cell, n tally) {
	sum := t[cell]
	t[cell] = tally{sum.count + n.count, sum.urgent + n.urgent}
}

// count counts the notices that are not counted yet. After an error, count returns the counts so far and the error.
func (c *noticeCounts) count(ctx context.Context, now time.Time) (counted, error) {
	first, over := now.Truncate(time.Hour).Add(-(hoursShown-1)*time.Hour), now.Add(-hourSettles).Truncate(time.Hour)
	err := c.countHours(ctx, first, over)
	if err == nil {
		err = c.countMinutes(ctx, earlier(over, now.Truncate(time.Minute).Add(-minutesKept)), now)
	}
	return c.sum(first, now), err
}

// lastHour returns the start of the first of the last 60 minutes.
func lastHour(now time.Time) time.Time { return now.Truncate(time.Minute).Add(-59 * time.Minute) }

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

// countHours counts each hour that is over, once.
func (c *noticeCounts) countHours(ctx context.Context, first, over time.Time) error {
	for start := range c.hours {
		if start.Before(first) || !start.Before(over) {
			delete(c.hours, start)
		}
	}
	for start := first; start.Before(over); start = start.Add(time.Hour) {
		if c.hours[start] != nil {
			continue
		}
		found, err := c.ledger.CountNotices(ctx, start, start.Add(time.Hour), time.Hour)
		if err != nil {
			return err
		}
		c.hours[start] = tallies{}
		for i := range found {
			c.hours[start].add(cellOf(&found[i]), tallyOf(&found[i]))
		}
	}
	return nil
}

func cellOf(n *ledger.NoticeCount) ledger.Cell {
	return ledger.Cell{Warehouse: n.Warehouse, Type: n.Type}
}

func tallyOf(n *ledger.NoticeCount) tally { return tally{n.Count, n.Urgent} }

// countMinutes counts the minutes whose counts can still grow. The first such minute is at since or later.
func (c *noticeCounts) countMinutes(ctx context.Context, since, now time.Time) error {
	from := since
	if c.settled.After(since) && c.settled.Before(now) {
		from = c.settled
	}
	found, err := c.ledger.CountNotices(ctx, from, now.Truncate(time.Minute).Add(time.Minute), time.Minute)
	if err != nil {
		return err
	}
	for start := range c.minutes {
		if start.Before(since) || !start.Before(from) {
			delete(c.minutes, start)
		}
	}
	for i := range found {
		start := found[i].Start
		if c.minutes[start] == nil {
			c.minutes[start] = tallies{}
		}
		c.minutes[start].add(cellOf(&found[i]), tallyOf(&found[i]))
	}
	c.settled = now.Add(-minuteSettles).Truncate(time.Minute)
	return nil
}

// sum combines the counts of hours and minutes.
func (c *noticeCounts) sum(first, now time.Time) counted {
	out := counted{hours: make([]countedHour, hoursShown), lastHour: tallies{}, minutes: maps.Clone(c.minutes)}
	for i := range out.hours {
		start := first.Add(time.Duration(i) * time.Hour)
		out.hours[i] = countedHour{start, c.hours[start]}
		if out.hours[i].tallies == nil {
			out.hours[i].tallies = tallies{}
		}
	}
	for start, n := range c.minutes {
		at := int(start.Sub(first) / time.Hour)
		counts := !start.Before(first) && at < hoursShown && c.hours[start.Truncate(time.Hour)] == nil
		for cell, t := range n {
			if counts {
				out.hours[at].tallies.add(cell, t)
			}
			if !start.Before(lastHour(now)) {
				out.lastHour.add(cell, t)
			}
		}
	}
	return out
}
