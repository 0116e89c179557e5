package app

import (
	"context"
	"fmt"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"
)

// Whatever happens to the ledger's clock, the time of nodes goes back only where a clock term begins, and goes ahead by
// more than an hour only if an operator confirms it. In the end all nodes agree.
func TestClocksOfNodes(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		steps := make([]clockStep, rapid.IntRange(1, 12).Draw(rt, "steps"))
		for i := range steps {
			steps[i] = clockStep{
				what:  rapid.IntRange(0, 3).Draw(rt, "what"),
				to:    rapid.SampledFrom([]time.Duration{0, -3 * time.Second, -10 * time.Minute, 50 * time.Minute, 2 * time.Hour, -48 * time.Hour}).Draw(rt, "to"),
				order: rapid.Permutation([]int{0, 1, 2}).Draw(rt, "order"),
			}
		}
		var fault error
		synctest.Test(t, func(t *testing.T) { fault = clockWalk(t.Context(), steps) })
		if fault != nil {
			rt.Fatal(fault)
		}
	})
}

// clockStep sets the ledger's clock, confirms it, or does nothing. Then the nodes look, in that order.
type clockStep struct {
	what  int
	to    time.Duration
	order []int
}

func clockWalk(ctx context.Context, steps []clockStep) error {
	l := &ledgerClock{}
	nodes := make([]*sharedClock, 3)
	for i := range nodes {
		var err error
		if nodes[i], err = newClock(ctx, newMachineClock(0), l, aNode, true, slog.New(slog.DiscardHandler)); err != nil {
			return err
		}
	}
	for _, step := range steps {
		switch step.what {
		case 0, 1:
			l.set(step.to)
		case 2:
			if err := l.ConfirmClock(ctx, aNode, ""); err != nil {
				return err
			}
		}
		for _, i := range step.order {
			before, was := nodes[i].Now(), nodes[i].state()
			if err := nodes[i].look(ctx); err != nil {
				return err
			}
			after, is := nodes[i].Now(), nodes[i].state()
			switch {
			case is.Number != was.Number:
			case after.Before(before):
				return fmt.Errorf("node %d went back from %s to %s in term %d", i, before, after, is.Number)
			case after.Sub(before) > mostAhead && step.what != 2:
				return fmt.Errorf("node %d went ahead from %s to %s", i, before, after)
			}
		}
		time.Sleep(time.Second) //nolint:forbidigo // in a synctest bubble
	}
	for range 20 { // small steps back are caught up with
		for _, c := range nodes {
			if err := c.look(ctx); err != nil {
				return err
			}
		}
		time.Sleep(time.Second) //nolint:forbidigo // in a synctest bubble
	}
	for _, c := range nodes[1:] {
		if !c.Now().Equal(nodes[0].Now()) {
			return fmt.Errorf("nodes are at %s and %s", c.Now(), nodes[0].Now())
		}
	}
	return nil
}
