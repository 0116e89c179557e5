package queue

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"tallyman/internal/combine"
	"tallyman/internal/item"
	"tallyman/internal/testenv"
)

// slowLedger holds its first commit back, and refuses those that have a poisoned item.
type slowLedger struct {
	*memoryLedger

	begun, goOn chan struct{}

	mu      sync.Mutex
	commits []int // their sizes
}

var errPoison = errors.New("no such thing")

func (l *slowLedger) PushItems(ctx context.Context, queue string, items []item.Record) ([]item.PushAnswer, error) {
	l.mu.Lock()
	l.commits = append(l.commits, len(items))
	first := len(l.commits) <= commitFlights
	l.mu.Unlock()
	if first {
		l.begun <- struct{}{}
		<-l.goOn
	}
	for _, i := range items {
		if i.ID == "poison" {
			return nil, errPoison
		}
	}
	return l.memoryLedger.PushItems(ctx, queue, items)
}

// Pushes that arrive during a commit share the next commit. A push that cannot be recorded does not fail the others.
func TestPushesShareCommits(t *testing.T) {
	t.Parallel()
	ledger := &slowLedger{memoryLedger: newMemoryLedger(), begun: make(chan struct{}), goOn: make(chan struct{})}
	n := newNode(t, testenv.Redis(t).Addr, ledger)
	var wg sync.WaitGroup
	push := func(id string) {
		wg.Go(func() {
			r, err := n.Push(t.Context(), false, "tester", []item.New{{ID: id, Payload: []byte("{}")}})
			switch {
			case id == "poison" && !errors.Is(err, errPoison):
				t.Errorf("the poisoned push: %+v, %v", r, err)
			case id != "poison" && (err != nil || r[0].Outcome != item.Pushed):
				t.Errorf("%s: %+v, %v", id, r, err)
			}
		})
	}
	for i := range commitFlights {
		push(fmt.Sprintf("first%d", i))
		<-ledger.begun
	}
	const more = 20
	for i := range more - 1 {
		push(fmt.Sprintf("i%d", i))
	}
	push("poison")
	testenv.Eventually(t, func() bool { return n.lines[0].commits.Waiting() == more }, soon)
	close(ledger.goOn)
	wg.Wait()
	if got := ledger.commits[commitFlights]; got != more {
		t.Errorf("the next commit had %d items, want %d", got, more)
	}
	if got := len(n.mustLease(t, "w", 100)); got != commitFlights+more-1 {
		t.Errorf("%d items are there", got)
	}
}

func TestRequestsThatShareACall(t *testing.T) {
	t.Parallel()
	plain := func(most int, worker, id string) *request {
		r := &request{epoch: "1-a", step: item.Step{Caller: item.Caller{Worker: worker}, Max: most}}
		if id != "" {
			r.caller = "w/" + worker
		}
		return r
	}
	parts := func(list ...*request) (out []*combine.Part[*request]) {
		for _, r := range list {
			out = append(out, &combine.Part[*request]{What: r})
		}
		return out
	}
	other := plain(1, "w", "")
	other.epoch = "2-b"
	many := make([]*request, stepRequests)
	for i := range many {
		many[i] = plain(1, "w", "")
	}
	for name, c := range map[string]struct {
		parts []*combine.Part[*request]
		next  *request
		want  bool
	}{
		"two":                          {parts(plain(1, "a", "1")), plain(1, "b", "1"), true},
		"of one caller without an id":  {parts(plain(1, "a", "")), plain(1, "a", ""), true},
		"of one caller with ids":       {parts(plain(1, "a", "1")), plain(1, "a", "2"), false},
		"of another epoch":             {parts(plain(1, "a", "")), other, false},
		"as much work as there may be": {parts(plain(stepWork-1, "a", "")), plain(1, "b", ""), true},
		"more work":                    {parts(plain(stepWork, "a", "")), plain(1, "b", ""), false},
		"one of as many as may be":     {parts(many[1:]...), plain(1, "b", ""), true},
		"too many":                     {parts(many...), plain(1, "b", ""), false},
	} {
		if got := together(c.parts, c.next); got != c.want {
			t.Errorf("%s: %t, want %t", name, got, c.want)
		}
	}
}
