package engine_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"tallyman/engine"
	"tallyman/engine/enginetest"
	"tallyman/internal/delivery"
	"tallyman/rules/deliver"
	"tallyman/rules/row"
	"tallyman/scanners"
)

// everyMinute makes a world whose rule finds one more bin in each of two warehouses every minute.
func everyMinute(w *world) {
	r := w.rules[0]
	r.Schedule.Cron = "* * * * *"
	r.Notice.Warehouse = `bin_code startsWith "A" ? "100" : "200"`
}

// bins returns the titles of a lane's notices, without repetitions.
func bins(s *enginetest.Sink, lane string) (list []string) {
	for _, n := range s.Taken(lane) {
		if !slices.Contains(list, n.Title) {
			list = append(list, n.Title)
		}
	}
	return list
}

func TestOrderHoldsThroughFailures(t *testing.T) {
	inWorld(t, func(w *world) {
		everyMinute(w)
		var calls atomic.Int64
		w.inbox.Fail = func(_ context.Context, lane string, _ []delivery.Delivery) error {
			if n := calls.Add(1); lane == "100" && n%3 != 0 {
				return errors.New("connection refused")
			}
			return nil
		}
		w.start(w.options("a"))
		var want []string
		for i := range 30 {
			w.set(append(w.current(), stock(fmt.Sprintf("A-%02d", i), -1))...)
			want = append(want, fmt.Sprintf("Bin A-%02d is at -1", i))
			pass(time.Minute)
		}
		pass(time.Minute)
		if got := bins(w.inbox, "100"); !slices.Equal(got, want) {
			t.Errorf("took %q", got)
		}
		if len(w.inbox.Taken("100")) != 30 || w.ledger.Unsent() != 0 {
			t.Errorf("%d taken, %d unsent", len(w.inbox.Taken("100")), w.ledger.Unsent())
		}
	})
}

func TestFailingLaneHoldsUpNoOther(t *testing.T) {
	inWorld(t, func(w *world) {
		everyMinute(w)
		other := &enginetest.Sink{}
		w.rules[0].Deliver = append(w.rules[0].Deliver, deliver.Entry{Sink: "other"})
		var up cell[bool]
		w.inbox.Fail = func(ctx context.Context, lane string, _ []delivery.Delivery) error {
			if lane == "100" && !up.get() {
				_ = enginetest.Sleep(ctx, time.Hour) // it does not even answer
				return ctx.Err()
			}
			return nil
		}
		o := w.options("a")
		o.PerSink = 2
		o.Sinks["other"] = engine.Sink{Sink: other, Inbox: true}
		w.start(o)
		w.set(stock("A-01", -1), stock("B-01", -1))
		pass(2 * time.Minute)
		for name, n := range map[string]int{
			"inbox 100": len(w.inbox.Taken("100")), "inbox 200": len(w.inbox.Taken("200")) - 1,
			"other 100": len(other.Taken("100")) - 1, "other 200": len(other.Taken("200")) - 1,
		} {
			if n != 0 {
				t.Errorf("%s is %d off", name, n)
			}
		}
		up.set(true)
		pass(time.Minute)
		if len(w.inbox.Taken("100")) != 1 || w.ledger.Unsent() != 0 {
			t.Errorf("the lane did not recover: %d unsent", w.ledger.Unsent())
		}
	})
}

func TestDeliveryBackoffStaysWithinBounds(t *testing.T) {
	inWorld(t, func(w *world) {
		everyMinute(w)
		var calls []time.Time
		w.inbox.Fail = func(context.Context, string, []delivery.Delivery) error {
			calls = append(calls, time.Now())
			return errors.New("connection refused")
		}
		w.start(w.options("a"))
		w.set(stock("A-01", -1))
		pass(3 * time.Minute)
		if len(calls) < 24 {
			t.Fatalf("%d calls in two minutes", len(calls))
		}
		if first := calls[1].Sub(calls[0]); first > 200*time.Millisecond {
			t.Errorf("the first retry came after %v", first)
		}
		for i := 1; i < len(calls); i++ {
			if gap := calls[i].Sub(calls[i-1]); gap > 5*time.Second+pollSlack || gap < 50*time.Millisecond {
				t.Errorf("retry %d came after %v", i, gap)
			}
		}
	})
}

const pollSlack = 500 * time.Millisecond

func TestNotRecordedIsDeliveredAgain(t *testing.T) {
	inWorld(t, func(w *world) {
		everyMinute(w)
		fails := 2
		w.ledger.Fail = func(method string) error {
			if method == "MarkSent" && fails > 0 {
				fails--
				return errors.New("connection reset")
			}
			return nil
		}
		w.start(w.options("a"))
		w.set(stock("A-01", -1))
		pass(2 * time.Minute)
		if n := len(w.inbox.Taken("100")); n != 3 || len(bins(w.inbox, "100")) != 1 || w.ledger.Unsent() != 0 {
			t.Errorf("taken %d times, %d unsent", n, w.ledger.Unsent())
		}
	})
}

func TestSinkThatAnswersForSomeOnlyIsAskedAgain(t *testing.T) {
	inWorld(t, func(w *world) {
		everyMinute(w)
		o := w.options("a")
		sink := &forgetful{Sink: w.inbox}
		o.Sinks["inbox"] = engine.Sink{Sink: sink, Inbox: true}
		w.start(o)
		w.set(stock("A-01", -1), stock("A-02", -1))
		pass(2 * time.Minute)
		if w.ledger.Unsent() != 0 || sink.calls != 2 {
			t.Errorf("%d unsent after %d calls", w.ledger.Unsent(), sink.calls)
		}
	})
}

// forgetful loses a receipt of its first answer.
type forgetful struct {
	*enginetest.Sink
	calls int
}

func (f *forgetful) Deliver(ctx context.Context, lane string, batch []delivery.Delivery) ([]delivery.Receipt, error) {
	receipts, err := f.Sink.Deliver(ctx, lane, batch)
	if f.calls++; f.calls == 1 {
		receipts = receipts[1:]
	}
	return receipts, err
}

func TestLaneOfDeadNodeIsTakenOver(t *testing.T) {
	inWorld(t, func(w *world) {
		everyMinute(w)
		lane := delivery.Lane{Sink: "inbox", Warehouse: "100"}
		if ok, err := w.ledger.AcquireLane(t.Context(), lane, "dead", 3*time.Minute); !ok || err != nil {
			t.Fatal(ok, err)
		}
		w.start(w.options("a"))
		w.set(stock("A-01", -1))
		pass(2 * time.Minute)
		if len(w.inbox.Taken("100")) != 0 {
			t.Error("delivered into a lane that another node holds")
		}
		pass(time.Minute + time.Second)
		if len(w.inbox.Taken("100")) != 1 {
			t.Error("the lane was not taken over")
		}
	})
}

// A stop drains every lane that the last commit has filled, also where there are more lanes than PerSink. A lane that
// fails then does not hold up the stop.
func TestStopDrainsTheLanesOfTheLastCommit(t *testing.T) {
	inWorld(t, func(w *world) {
		everyMinute(w)
		w.rules[0].Notice.Warehouse = "bin_code"
		var tries atomic.Int64
		w.inbox.Fail = func(ctx context.Context, lane string, _ []delivery.Delivery) error {
			if lane == "C" {
				tries.Add(1)
				return errChaos
			}
			return enginetest.Sleep(ctx, 100*time.Millisecond)
		}
		answer := w.source.Rows
		w.source.Rows = func(ctx context.Context, req scanners.Request) ([][]row.Value, error) {
			if err := enginetest.Sleep(ctx, 4*time.Second); err != nil {
				return nil, err
			}
			return answer(ctx, req)
		}
		o := w.options("a")
		o.PerSink = 1
		a := w.start(o)
		var rows [][]row.Value
		for bin := 'A'; bin <= 'H'; bin++ {
			rows = append(rows, stock(string(bin), -1))
		}
		w.set(rows...)
		pass(time.Minute + 2*time.Second) // in the scan
		a.stop()
		if n := w.ledger.Unsent(); n != 1 || tries.Load() == 0 || tries.Load() > 2 {
			t.Errorf("%d unsent, %d tries of the lane that fails", n, tries.Load())
		}
	})
}

func TestStopFinishesTheBatchAndReleasesTheLane(t *testing.T) {
	inWorld(t, func(w *world) {
		everyMinute(w)
		w.inbox.Fail = func(ctx context.Context, _ string, _ []delivery.Delivery) error {
			return enginetest.Sleep(ctx, 5*time.Second)
		}
		a := w.start(w.options("a"))
		w.set(stock("A-01", -1))
		pass(time.Minute + time.Second)
		a.stop()
		if w.ledger.Unsent() != 0 {
			t.Error("the batch was not finished")
		}
		lane := delivery.Lane{Sink: "inbox", Warehouse: "100"}
		if ok, err := w.ledger.AcquireLane(t.Context(), lane, "b", time.Minute); !ok || err != nil {
			t.Errorf("the lane is still held: %v, %v", ok, err)
		}
	})
}
