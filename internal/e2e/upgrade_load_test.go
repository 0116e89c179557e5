package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"tallyman/internal/item"
	"tallyman/internal/testenv"
	"tallyman/internal/wire"
)

// staff are clients of a queue: one pushes items, the others work on items. No request may fail.
type staff struct {
	c *cluster
	t *testing.T

	stopPushes, stopWork func()

	mu     sync.Mutex
	faults []string
	pushed int
	done   map[string]int // how often a worker has done an item, by its id
}

const workers = 2

// employ runs the clients until finish is called.
func employ(c *cluster) *staff {
	s := &staff{c: c, t: c.t, done: map[string]int{}}
	s.stopPushes = s.loop(1, func(_ int, random *rand.Rand) { s.push(random) })
	s.stopWork = s.loop(workers, s.work)
	return s
}

// loop calls do again and again in so many goroutines, until stop is called.
func (s *staff) loop(count int, do func(number int, random *rand.Rand)) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	for number := range count {
		random := rand.New(rand.NewPCG(uint64(number), 17))
		running.Go(func() {
			for ctx.Err() == nil {
				do(number, random)
			}
		})
	}
	stop = func() {
		cancel()
		running.Wait()
	}
	s.t.Cleanup(stop)
	return stop
}

// ask sends a request to any node in service.
func (s *staff) ask(random *rand.Rand, path, body string, answer any) bool {
	at := s.c.base(random.IntN(100)) + "/api/v1/queues/" + workQueue + path
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: 30 * time.Second}
	resp, err := client.Post(at, "application/json", strings.NewReader(body))
	if err == nil {
		defer resp.Body.Close()
		if resp.StatusCode >= http.StatusBadRequest {
			err = fmt.Errorf("the answer is %d", resp.StatusCode)
		} else {
			err = json.NewDecoder(resp.Body).Decode(answer)
		}
	}
	if err != nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.faults = append(s.faults, fmt.Sprintf("%s POST %s: %v", time.Now().Format("15:04:05.000"), at, err))
	}
	return err == nil
}

func (s *staff) push(random *rand.Rand) {
	pause(200 * time.Millisecond)
	s.mu.Lock()
	s.pushed++
	id := fmt.Sprintf("pushed-%d", s.pushed)
	s.mu.Unlock()
	var answer wire.PushedForm
	s.ask(random, "/items", fmt.Sprintf(`{"items":[{"id":%q,"warehouse":"119240","payload":{}}]}`, id), &answer)
}

// work leases some items, and finishes each.
func (s *staff) work(number int, random *rand.Rand) {
	var leased wire.LeasedItemsForm
	if !s.ask(random, "/lease", fmt.Sprintf(`{"worker":"worker-%d","max":5,"lease":"5m","wait":"1s"}`, number), &leased) {
		pause(100 * time.Millisecond)
		return
	}
	for i := range leased.Items {
		var result wire.ResultForm
		if s.ask(random, "/items/"+leased.Items[i].ID+"/ack", fmt.Sprintf(`{"attempt":%d}`, leased.Items[i].Attempt), &result) {
			s.mu.Lock()
			s.done[leased.Items[i].ID]++
			s.mu.Unlock()
		}
	}
}

// finish ends the pushes, waits until the work is done, and proves that each item was leased once and done once. made is
// how many items the rules have made. The node is in service.
func (s *staff) finish(n *node, made int) {
	s.t.Helper()
	s.stopPushes()
	want := s.pushed + made
	s.t.Cleanup(func() {
		s.t.Logf("%d items were pushed, %d are of rules, %d were done; faults: %q", s.pushed, made, len(s.done), s.faults)
	})
	testenv.Eventually(s.t, func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		return len(s.done) >= want || len(s.faults) > 0
	}, 60*time.Second)
	s.stopWork()
	for _, fault := range s.faults {
		s.t.Error(fault)
	}
	if len(s.done) != want {
		s.t.Errorf("%d items were done, %d were pushed and %d are of rules", len(s.done), s.pushed, made)
	}
	for id, times := range s.done {
		if form := n.traced(id); times != 1 || form.Attempt != 1 || form.State != string(item.Done) {
			s.t.Errorf("item %s was done %d times, after %d leases: %s", id, times, form.Attempt, course(form))
		}
	}
}
