package engine_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"tallyman/internal/delivery"
	"tallyman/sinks"
)

// refuse makes the inbox refuse notices with the title for good.
func refuse(w *world, title string) {
	w.inbox.Fail = func(_ context.Context, _ string, batch []delivery.Delivery) error {
		var bad []int64
		for _, d := range batch {
			if strings.Contains(d.Notice.Title, title) {
				bad = append(bad, d.Seq)
			}
		}
		if bad == nil {
			return nil
		}
		return &sinks.RefusedError{Seqs: bad, Err: errors.New("no such address")}
	}
}

func TestRefusedNoticeDoesNotBlockItsLane(t *testing.T) {
	inWorld(t, func(w *world) {
		everyMinute(w)
		refuse(w, "A-02")
		o := w.options("a")
		heard := &observer{}
		o.Observer = heard
		w.start(o)
		w.set(stock("A-01", -1), stock("A-02", -1), stock("A-03", -1))
		pass(2 * m)
		if got := bins(w.inbox, "100"); !slices.Equal(got, []string{"Bin A-01 is at -1", "Bin A-03 is at -1"}) || w.ledger.Unsent() != 0 {
			t.Errorf("took %q, %d unsent", got, w.ledger.Unsent())
		}
		if list := heard.list(); !slices.Contains(list, "failed inbox 1") || !slices.Contains(list, "sent inbox 2") {
			t.Errorf("heard %q", list)
		}
	})
}

// A sink refuses deliveries that it was not given. Without the check it would be called forever without a pause.
func TestRefusalOfSomethingElseIsAnOrdinaryFailure(t *testing.T) {
	inWorld(t, func(w *world) {
		everyMinute(w)
		calls := 0
		w.inbox.Fail = func(context.Context, string, []delivery.Delivery) error {
			if calls++; calls > 3 {
				return nil
			}
			return &sinks.RefusedError{Seqs: []int64{1000}, Err: errors.New("what?")}
		}
		w.start(w.options("a"))
		w.set(stock("A-01", -1))
		pass(2 * m)
		if len(w.inbox.Taken("100")) != 1 || calls != 4 {
			t.Errorf("%d taken in %d calls", len(w.inbox.Taken("100")), calls)
		}
	})
}

func TestPanickingSinkIsAFailingSink(t *testing.T) {
	inWorld(t, func(w *world) {
		everyMinute(w)
		calls := 0
		w.inbox.Fail = func(context.Context, string, []delivery.Delivery) error {
			if calls++; calls < 3 {
				panic("nil map")
			}
			return nil
		}
		w.start(w.options("a"))
		w.set(stock("A-01", -1))
		pass(2 * m)
		if len(w.inbox.Taken("100")) != 1 || w.ledger.Unsent() != 0 {
			t.Errorf("%d taken, %d unsent", len(w.inbox.Taken("100")), w.ledger.Unsent())
		}
	})
}
