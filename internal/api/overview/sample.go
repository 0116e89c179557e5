package overview

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"tallyman/internal/ledger"
)

// level is a length of samples, and how long they are kept.
type level struct{ step, kept time.Duration }

// levels are the lengths, the shortest first. Longer samples are made from the samples of the level before.
// docs/adr/samples.md has the sizes.
var levels = []level{{time.Minute, 3 * time.Hour}, {10 * time.Minute, 26 * time.Hour}, {time.Hour, 31 * 24 * time.Hour}}

// The time for one sample, the maximum number of deliveries that it reads, and the maximum number of samples in one
// transaction.
const (
	sampleTimeout = 30 * time.Second
	mostWaiting   = 10_000
	mostRecorded  = 200
)

// samplePause is the shortest pause between two samples by the machine's timer. Without the pause, a fast clock of the
// rules (demo) could make many samples in a second.
const samplePause = time.Second

// Sample records a sample each minute until ctx ends. Every node runs Sample, and the node that claims the minute
// records the sample.
func (h *Handlers) Sample(ctx context.Context) {
	for {
		err := h.sample(ctx)
		if err != nil && ctx.Err() == nil {
			h.deps.Meter.SampleFailed()
			h.log.LogAttrs(ctx, slog.LevelWarn, "A sample for the charts of the overview was not recorded. The next one follows in a minute.", slog.Any("error", err))
		}
		now := h.deps.Rules.Now()
		next := time.NewTimer(max(h.deps.Real(now.Truncate(time.Minute).Add(time.Minute).Sub(now)), samplePause))
		select {
		case <-next.C:
		case <-ctx.Done():
			next.Stop()
			return
		}
	}
}

// sample records the sample of the minute, and the longer samples that are over and not recorded yet.
func (h *Handlers) sample(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, sampleTimeout)
	defer cancel()
	now := h.deps.Rules.Now()
	start := now.Truncate(time.Minute)
	claimed, err := h.deps.Ledger.ClaimSample(ctx, time.Minute, start)
	if err != nil || !claimed {
		return err
	}
	figures, err := h.figures(ctx, now)
	if err != nil {
		return err
	}
	if err := h.deps.Ledger.RecordSamples(ctx, time.Minute, []ledger.Sample{{Start: start, Taken: 1, Figures: figures}}); err != nil {
		return err
	}
	for i := range levels {
		if i > 0 {
			if err := h.fill(ctx, i, now); err != nil {
				return err
			}
		}
		if err := h.deps.Ledger.PruneSamples(ctx, levels[i].step, now.Add(-levels[i].kept)); err != nil {
			return err
		}
	}
	return nil
}

// figures returns the figures of this moment, without notices. Notices are only counted for longer samples.
func (h *Handlers) figures(ctx context.Context, now time.Time) (map[ledger.Cell]ledger.Figures, error) {
	list, err := h.deps.Standing(ctx)
	if err != nil {
		return nil, err
	}
	figures := cells{}
	types := map[string]string{} // By rule.
	for i := range list {
		r := list[i].Rule
		types[r.ID] = r.Notice.Type
		late := list[i].Overdue
		if last := list[i].LastRun; last != nil && now.Sub(last.Started) < 2*time.Minute {
			late = max(late, list[i].Lag())
		}
		figures.add(ledger.Cell{Warehouse: r.Scope, Type: r.Notice.Type}, ledger.Figures{Lateness: late.Milliseconds()})
	}
	findings, err := h.deps.Ledger.CountRuleFindings(ctx)
	if err != nil {
		return nil, fmt.Errorf("counting the open findings: %w", err)
	}
	for _, n := range findings {
		figures.add(ledger.Cell{Warehouse: n.Warehouse, Type: types[n.Rule]}, ledger.Figures{Firing: n.Firing, Pending: n.Pending})
	}
	waiting, err := h.deps.Ledger.WaitingDeliveries(ctx, now, mostWaiting)
	if err != nil {
		return nil, fmt.Errorf("reading the deliveries that wait: %w", err)
	}
	for _, d := range waiting {
		figures.add(ledger.Cell{Warehouse: d.Warehouse, Type: d.Type}, ledger.Figures{Ages: ageOf(now.Sub(d.Since))})
	}
	for _, q := range h.lookout.look(ctx).queues {
		for _, depth := range q.sizes.Warehouses {
			for _, l := range depth.Levels {
				if l.Ready > 0 && !l.Oldest.IsZero() {
					figures.add(ledger.Cell{Warehouse: depth.Warehouse}, ledger.Figures{QueueAge: max(q.at.Sub(l.Oldest), 0).Milliseconds()})
				}
			}
		}
	}
	return figures, nil
}

// ageOf returns one delivery as a histogram of ages.
func ageOf(age time.Duration) []int64 {
	at, _ := slices.BinarySearch(ledger.AgeBounds, age+1)
	ages := make([]int64, at+1)
	ages[at] = 1
	return ages
}

// cells are sums of figures.
type cells map[ledger.Cell]ledger.Figures

func (c cells) add(cell ledger.Cell, f ledger.Figures) {
	sum := c[cell]
	sum.Add(f)
	c[cell] = sum
}

// fill records the samples of a level since the last recorded one. The ledger counts their notices, so that an hour has
// all notices even if no node ran.
func (h *Handlers) fill(ctx context.Context, at int, now time.Time) error {
	step := levels[at].step
	last, err := h.deps.Ledger.LastSample(ctx, step)
	if err != nil {
		return err
	}
	from, over := now.Add(-levels[at].kept).Truncate(step).Add(step), now.Add(-hourSettles).Truncate(step)
	if next := last.Add(step); !last.IsZero() && next.After(from) {
		from = next
	}
	for from.Before(over) {
		to := from.Add(mostRecorded * step)
		if to.After(over) {
			to = over
		}
		if err := h.record(ctx, at, from, to); err != nil {
			return err
		}
		from = to
	}
	return nil
}

// record records the samples of a level from one time to another. record leaves out empty samples, but not the last
// one, which marks how far the level is recorded.
func (h *Handlers) record(ctx context.Context, at int, from, to time.Time) error {
	step := levels[at].step
	finer, err := h.deps.Ledger.Samples(ctx, levels[at-1].step, from, to)
	if err != nil {
		return err
	}
	notices, err := h.deps.Ledger.CountNotices(ctx, from, to, step)
	if err != nil {
		return err
	}
	made := series{}
	for i := range finer {
		made.add(step, &finer[i], false)
	}
	for i := range notices {
		n := &notices[i]
		made.at(n.Start).add(cellOf(n), ledger.Figures{Notices: n.Count, Urgent: n.Urgent})
	}
	made.at(to.Add(-step))
	list := make([]ledger.Sample, 0, len(made))
	for start, s := range made {
		list = append(list, ledger.Sample{Start: start, Taken: s.taken, Figures: s.cells})
	}
	slices.SortFunc(list, func(a, b ledger.Sample) int { return a.Start.Compare(b.Start) })
	return h.deps.Ledger.RecordSamples(ctx, step, list)
}

// series are sums of samples, by start.
type series map[time.Time]*growing

type growing struct {
	taken int
	cells
}

func (s series) at(start time.Time) *growing {
	start = start.UTC()
	if s[start] == nil {
		s[start] = &growing{cells: cells{}}
	}
	return s[start]
}

// add adds a sample to the step in which it lies, with or without its notices.
func (s series) add(step time.Duration, o *ledger.Sample, notices bool) {
	into := s.at(o.Start.Truncate(step))
	into.taken += o.Taken
	for cell, f := range o.Figures {
		if !notices {
			f.Notices, f.Urgent = 0, 0
		}
		into.add(cell, f)
	}
}
