package queue

import (
	"slices"
	"testing"
	"time"

	"tallyman/internal/combine"
	"tallyman/internal/item"
)

func TestItemsAreLeasedByPriorityAndInTheirOrder(t *testing.T) {
	t.Parallel()
	onAll(t, func(t site) {
		n := newNode(t, t.addr, newMemoryLedger())
		n.mustPush(t, slices.Concat(newItems(2, 1, "low"), newItems(2, 3, "mid"), newItems(2, 5, "high"))...)
		want := []string{"high1", "high2", "mid1", "mid2", "low1"}
		got := n.mustLease(t, "w1", 5)
		if !slices.Equal(want, idsOf(got)) {
			t.Fatalf("leased %v, want %v", idsOf(got), want)
		}
		l := got[0]
		if l.Attempt != 1 || l.Priority != 5 || string(l.Payload) != `{"bin":"A-00"}` || time.Until(l.Until) < 50*time.Second {
			t.Errorf("the lease is %+v", l)
		}
	})
}

// TestTogether: those who may ask for their items again share a call only where the call could answer all of them again.
func TestTogether(t *testing.T) {
	t.Parallel()
	named := func(name string, most int) *request {
		return &request{caller: "w/" + name, step: item.Step{Max: most}}
	}
	nameless := &request{step: item.Step{Max: 1000}}
	for name, c := range map[string]struct {
		parts []*request
		next  *request
		want  bool
	}{
		"small ones":                     {[]*request{named("a", 20), named("b", 20)}, named("c", 20), true},
		"more than can be answered":      {[]*request{named("a", 20), named("b", 20)}, named("c", 21), false},
		"a large one beside a small one": {[]*request{named("a", 1)}, named("b", 1000), false},
		"a small one beside a large one": {[]*request{named("a", 1000)}, named("b", 1), false},
		"a large one that is the first":  {[]*request{nameless}, named("b", 1000), true},
		"one that only works":            {[]*request{named("a", 1000)}, named("b", 0), true},
		"one that cannot ask again":      {[]*request{named("a", 1000)}, nameless, true},
		"the same caller":                {[]*request{named("a", 1)}, named("a", 1), false},
		"more work than a call does":     {[]*request{nameless, nameless}, &request{step: item.Step{Max: 1}}, false},
	} {
		parts := make([]*combine.Part[*request], len(c.parts))
		for i, r := range c.parts {
			parts[i] = &combine.Part[*request]{What: r}
		}
		if got := together(parts, c.next); got != c.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

func TestOperations(t *testing.T) {
	t.Parallel()
	onAll(t, func(t site) {
		n := newNode(t, t.addr, newMemoryLedger())
		n.mustPush(t, newItems(12, 3, "i")...)
		leases := n.mustLease(t, "w1", 8)
		op := func(kind item.OpKind, i int, change ...func(*item.Op)) item.Op {
			o := item.Op{Kind: kind, ID: leases[i].ID, Attempt: leases[i].Attempt, Note: "because of: é 100%"}
			for _, f := range change {
				f(&o)
			}
			return o
		}
		delay := func(d time.Duration) func(*item.Op) { return func(o *item.Op) { o.Delay = d } }
		got := n.mustStep(t, item.Step{Caller: item.Caller{Worker: "w1"}, Max: 3, Ops: []item.Op{
			op(item.Ack, 0), op(item.Nack, 1), op(item.Nack, 2, delay(time.Hour)), op(item.Release, 3),
			op(item.Extend, 4, delay(time.Hour)), op(item.Suspend, 5), op(item.Store, 6, delay(48*time.Hour)),
			op(item.Ack, 0), op(item.Nack, 1),
			{Kind: item.Finish, ID: "i9"},
			{Kind: item.Remove, ID: "i10"},
			{Kind: item.Assign, ID: "i11", Worker: "w2"},
			{Kind: item.Finish, ID: "i8"},
			{Kind: item.Requeue, ID: "i11"},
			{Kind: item.Finish, ID: "none"},
		}})
		want := []item.Result{
			{Outcome: item.OK, State: item.Done},
			{Outcome: item.OK, State: item.Ready},
			{Outcome: item.OK, State: item.Delayed},
			{Outcome: item.OK, State: item.Ready},
			{Outcome: item.OK, State: item.Leased},
			{Outcome: item.OK, State: item.Suspended},
			{Outcome: item.OK, State: item.Stored},
			{Outcome: item.LeaseLost},
			{Outcome: item.LeaseLost},
			{Outcome: item.OK, State: item.Done},
			{Outcome: item.OK, State: item.Removed},
			{Outcome: item.OK, State: item.Ready},
			{Outcome: item.IsLeased},
			{Outcome: item.NotDead},
			{Outcome: item.NotFound},
		}
		for i, r := range got.Results {
			if r.Outcome != want[i].Outcome || r.State != want[i].State {
				t.Errorf("%d: %s of %s came out as %s %s, want %s %s", i, r.Kind, r.ID, r.Outcome, r.State, want[i].Outcome, want[i].State)
			}
			timed := slices.Contains([]item.State{item.Delayed, item.Leased, item.Suspended, item.Stored}, r.State)
			if timed == r.Due.IsZero() {
				t.Errorf("%d: %s of %s is due at %v", i, r.Kind, r.ID, r.Due)
			}
		}
		// The released one comes first, the one that failed last; the assigned one is not for w1.
		if got, want := idsOf(got.Items), []string{"i4", "i12", "i2"}; !slices.Equal(got, want) {
			t.Errorf("leased %v, want %v", got, want)
		}
		if got := idsOf(n.mustLease(t, "w2", 5)); !slices.Equal(got, []string{"i11"}) {
			t.Errorf("w2 got %v", got)
		}
	})
}
