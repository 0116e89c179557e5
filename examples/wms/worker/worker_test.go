package main

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"tallyman/internal/testenv"
)

// running is the program at work on a queue.
type running struct {
	t    *testing.T
	stop context.CancelFunc
	end  chan error
	out  *testenv.Output
}

func start(t *testing.T, q *queue, args ...string) *running {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	r := &running{t: t, stop: stop, end: make(chan error, 1), out: &testenv.Output{}}
	args = append([]string{"-server", q.url + "/", "-name", "w1", "-takes", "1ms"}, args...)
	go func() { r.end <- run(ctx, args, r.out, r.out) }()
	t.Cleanup(stop)
	return r
}

// ends stops the program, which has to end well, and returns what it told.
func (r *running) ends() string {
	r.t.Helper()
	r.stop()
	if err := <-r.end; err != nil {
		r.t.Errorf("ended with %v", err)
	}
	return r.out.String()
}

func TestWhatBecomesOfItems(t *testing.T) {
	t.Parallel()
	q := newQueue(t, refill("i1", "A-01", "S001"), refill("i2", "C-02", "S001"), refill("i3", "A-03", "S007"), refill("i4", "A-04", "S007"), item{ID: "i5", Attempt: 2, Payload: []byte(`{"hello":1}`)})
	q.outcome["suspend i4"] = "suspend_limit"
	r := start(t, q, "-closed", "B,C", "-missing", "S003, S007", "-batch", "2")
	q.awaitDone("ack i1", "store i2", "suspend i3", "suspend i4", "store i4", "nack i5")
	told := r.ends()
	for _, want := range []string{"bin A-01, S001", "store   i2  bin C-02, S001: aisle C is closed", "suspend i3", "no S007 in reserve", "the payload names no bin", "has stopped"} {
		if !strings.Contains(told, want) {
			t.Errorf("it does not tell %q:\n%s", want, told)
		}
	}
	ids := map[string]bool{}
	for _, s := range q.asked {
		if s.Worker != "w1" || s.RequestID == "" || ids[s.RequestID] && s.Max > 0 {
			t.Errorf("asked %+v", s)
		}
		ids[s.RequestID] = true
		for _, o := range s.Ops {
			if o.ID == "i5" && o.Attempt != 2 || o.Op == "store" && o.Days != 1 {
				t.Errorf("operation %+v", o)
			}
		}
	}
}

// What was refused because another worker has the item is no reason to end.
func TestLostLease(t *testing.T) {
	t.Parallel()
	q := newQueue(t, refill("i1", "A-01", "S001"), refill("i2", "A-02", "S001"))
	q.outcome["ack i1"] = "lease_lost"
	r := start(t, q)
	q.awaitDone("ack i1", "ack i2")
	if told := r.ends(); !strings.Contains(told, "lease_lost: ack of i1") {
		t.Error(told)
	}
}

// A request whose answer was lost is repeated as it was.
func TestRepeatsWhatWasNotAnswered(t *testing.T) {
	t.Parallel()
	q := newQueue(t, refill("i1", "A-01", "S001"))
	var once, twice sync.Once
	q.answer = func(w http.ResponseWriter, _ *http.Request, _ step) (answered bool) {
		once.Do(func() { w.WriteHeader(http.StatusServiceUnavailable); answered = true })
		if !answered {
			twice.Do(func() { panic(http.ErrAbortHandler) })
		}
		return answered
	}
	r := start(t, q)
	q.awaitDone("ack i1")
	r.ends()
	first := q.asked[0]
	for _, s := range q.asked[:3] {
		if s.RequestID != first.RequestID || s.Max != first.Max {
			t.Errorf("%+v after %+v", s, first)
		}
	}
}

// What cannot succeed ends the program with the reason.
func TestEndsWhereThereIsNoQueue(t *testing.T) {
	t.Parallel()
	q := newQueue(t)
	q.answer = func(w http.ResponseWriter, _ *http.Request, _ step) bool {
		http.Error(w, `{"code":"queue_not_found"}`, http.StatusNotFound)
		return true
	}
	r := start(t, q)
	if err := <-r.end; err == nil || !strings.Contains(err.Error(), "queue_not_found") {
		t.Error(err)
	}
	if err := run(t.Context(), []string{"now"}, r.out, r.out); err == nil || !strings.Contains(r.out.String(), "flags alone") {
		t.Error(err, r.out)
	}
}

// A stop finishes the item in hand and gives back the others.
func TestStopGivesBack(t *testing.T) {
	t.Parallel()
	q := newQueue(t, refill("i1", "A-01", "S001"), refill("i2", "A-02", "S001"), refill("i3", "A-03", "S001"))
	r := start(t, q, "-takes", "1500ms", "-lease", "60ms")
	testenv.Eventually(t, func() bool { return q.count("extend") > 0 }, 10*time.Second)
	if told := r.ends(); !strings.Contains(told, "gave back 2") {
		t.Error(told)
	}
	if got := q.done(); !slices.Equal(got, []string{"ack i1", "release i2", "release i3"}) {
		t.Errorf("%v", got)
	}
}

// A stop that cuts off a request for work asks for what it may have given, and gives it back.
func TestStopWhileItWaits(t *testing.T) {
	t.Parallel()
	q := newQueue(t)
	waiting := make(chan struct{})
	q.answer = func(w http.ResponseWriter, r *http.Request, s step) bool {
		switch {
		case s.Wait != "":
			close(waiting)
			<-r.Context().Done()
			return true
		case len(s.Ops) == 0 && s.Max == 0:
			_, _ = w.Write([]byte(`{"results":[],"items":[{"id":"i1","attempt":3,"payload":{"data":{"bin":"A-01"}}}]}`))
			return true
		}
		return false
	}
	r := start(t, q)
	<-waiting
	r.ends()
	if got := q.done(); !slices.Equal(got, []string{"release i1"}) {
		t.Errorf("%v", got)
	}
	if q.asked[0].RequestID != q.asked[1].RequestID || q.asked[2].Ops[0].Attempt != 3 {
		t.Errorf("%+v", q.asked)
	}
}

// An item whose lease cannot be renewed is another worker's: it is not begun.
func TestDoesNotBeginWhatItLost(t *testing.T) {
	t.Parallel()
	q := newQueue(t, refill("i1", "A-01", "S001"), refill("i2", "A-02", "S001"))
	q.outcome["extend i2"] = "lease_lost"
	r := start(t, q, "-takes", "1500ms", "-lease", "60ms")
	q.awaitDone("ack i1")
	testenv.Eventually(t, func() bool { return strings.Contains(r.out.String(), "lost i2 before it was begun") }, 10*time.Second)
	r.ends()
	if got := q.done(); !slices.Equal(got, []string{"ack i1"}) {
		t.Errorf("%v", got)
	}
}

func (q *queue) count(kind string) (n int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, s := range q.asked {
		for _, o := range s.Ops {
			if o.Op == kind {
				n++
			}
		}
	}
	return n
}
