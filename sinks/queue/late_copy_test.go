package queue

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"tallyman/internal/item"
	"tallyman/internal/testenv"
)

// TestALateCopyOfARequestDoesNothing has a worker that hangs up, asks again, gets an answer and goes on. Then the first
// copy of its request arrives. That copy must not lease items, and must not remove the last answer.
func TestALateCopyOfARequestDoesNothing(t *testing.T) {
	t.Parallel()
	onAll(t, func(t site) {
		n := newNode(t, t.addr, nil)
		n.mustPush(t, newItems(4, 3, "i")...)
		step := func(s item.Step) item.Stepped {
			t.Helper()
			out, err := n.Step(t.Context(), s)
			if err != nil {
				t.Fatal(err)
			}
			return out
		}
		requests := []item.Step{{Caller: item.Caller{Worker: "w"}, RequestID: "r0"}, {Caller: item.Caller{Worker: "w"}, RequestID: "r1", Max: 1}}
		step(requests[0]) // without an effect, and remembered all the same
		first := step(requests[1])
		for i := range 8 {
			requests = append(requests, item.Step{Caller: item.Caller{Worker: "w"}, RequestID: fmt.Sprintf("r%d", i+2), Ops: []item.Op{{Kind: item.Ack, ID: fmt.Sprintf("none%d", i), Attempt: 1}}})
			step(requests[len(requests)-1])
		}
		last := item.Step{Caller: item.Caller{Worker: "w"}, RequestID: "last", Max: 1, Ops: []item.Op{{Kind: item.Ack, ID: first.Items[0].ID, Attempt: 1}}}
		answer := step(last)
		for _, late := range requests[2:] {
			late.Max = 1
			out, err := n.Step(t.Context(), late)
			if invalid, ok := errors.AsType[*item.InvalidError](err); !ok || invalid.Field != "requestId" || len(out.Items) > 0 {
				t.Errorf("%s came late and got %v, %v", late.RequestID, out, err)
			}
		}
		if again := step(last); again.Results[0].Outcome != item.OK || len(again.Items) != 1 || again.Items[0].ID != answer.Items[0].ID {
			t.Errorf("after that the last answer is %v, it was %v", again, answer)
		}
		if s, err := n.Sizes(t.Context(), false, nil); err != nil || s.Leased != 1 || s.Ready != 2 {
			t.Errorf("%+v, %v", s, err)
		}
	})
}

// TestACopyThatStillWaitsGetsNothing has a worker that hangs up, asks again, gets no items and goes on. The first copy
// of its request may still wait, because no part has noticed the end of the connection. Items that become ready must
// not go to it.
func TestACopyThatStillWaitsGetsNothing(t *testing.T) {
	t.Parallel()
	onAll(t, func(t site) {
		n := newNode(t, t.addr, nil)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		copied := make(chan item.Stepped, 1)
		go func() {
			out, _ := n.Step(ctx, item.Step{Caller: item.Caller{Worker: "w"}, RequestID: "r1", Max: 1, Wait: time.Minute})
			copied <- out
		}()
		testenv.Eventually(t, func() bool { return n.lines[0].waiters.count() == 1 }, 60*time.Second)
		for _, wait := range []time.Duration{50 * time.Millisecond, 0, time.Minute} { // the last has its answer at once
			out, err := n.Step(t.Context(), item.Step{Caller: item.Caller{Worker: "w"}, RequestID: "r1", Max: 1, Wait: wait})
			if err != nil || len(out.Items) > 0 {
				t.Fatalf("%v, %v", out, err)
			}
		}
		n.mustPush(t, newItems(1, 3, "i")...)
		n.lines[0].waiters.wake(everyKind, "") // it asks once more
		out, err := n.Step(t.Context(), item.Step{Caller: item.Caller{Worker: "w"}, RequestID: "r1", Max: 1})
		if err != nil || len(out.Items) > 0 {
			t.Errorf("the same request was answered %v, %v", out, err)
		}
		if out, err = n.Step(t.Context(), item.Step{Caller: item.Caller{Worker: "w"}, RequestID: "r2", Max: 1, Wait: time.Second}); err != nil || len(out.Items) != 1 {
			t.Errorf("the next request: %v, %v", out, err)
		}
		if out := <-copied; len(out.Items) > 0 {
			t.Errorf("the copy was given %v", out)
		}
	})
}
