package api_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"tallyman/internal/item"
	"tallyman/internal/testenv"
	"tallyman/internal/wire"
	"tallyman/sinks/queue"
	"tallyman/sinks/recovery"
)

// withRealQueue serves a queue on a Redis, whose leases outlast every test.
func withRealQueue(t *testing.T, change ...func(*parts)) *bundle {
	t.Helper()
	watch := recovery.NewWatch()
	client := redis.NewClient(&redis.Options{Addr: testenv.Redis(t).Addr, OnConnect: watch.OnConnect})
	q, err := queue.New(queue.Options{
		Client: client, Watch: watch, Node: "node-1", Prefix: "tallyman:", Name: "replenishment", Settings: item.Settings{Lease: time.Hour}, Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background()) //nolint:usetesting // it ends in the cleanup, after the servers
	var wg sync.WaitGroup
	wg.Go(func() { q.Run(ctx) })
	t.Cleanup(func() {
		cancel()
		wg.Wait()
		_ = client.Close()
	})
	testenv.Eventually(t, func() bool { return q.Ready() == nil }, 60*time.Second)
	return setup(t, append(change, func(d *parts) { withQueue(d, q) })...)
}

// impatient is a worker that disconnects again and again, and repeats requests that got no answer.
type impatient struct {
	*bundle

	name string
	left int // how often it hung up
}

// step makes a request until it is answered. Every attempt but the tenth is given a few ms.
func (w *impatient) step(ctx context.Context, t *testing.T, body wire.StepForm) (done wire.SteppedForm) {
	t.Helper()
	for try := 1; ; try++ {
		enough := time.Duration(rand.IntN(8_000)) * time.Microsecond
		if try%10 == 0 {
			enough = 20 * time.Second
		}
		ctx, hangUp := context.WithTimeout(ctx, enough)
		answered := w.try(ctx, t, body, &done)
		hangUp()
		if answered {
			return done
		}
		w.left++
	}
}

func (w *impatient) try(ctx context.Context, t *testing.T, body wire.StepForm, done *wire.SteppedForm) bool {
	t.Helper()
	text, err := json.Marshal(body)
	if err != nil {
		t.Error(err)
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, w.url+queuePath+"/step", bytes.NewReader(text))
	if err != nil {
		t.Error(err)
		return false
	}
	resp, err := w.client.Do(r)
	if err != nil {
		return false
	}
	defer resp.Body.Close()
	*done = wire.SteppedForm{}
	if err := json.NewDecoder(resp.Body).Decode(done); err != nil {
		return false
	}
	if resp.StatusCode != http.StatusOK {
		t.Errorf("%s: %d", w.name, resp.StatusCode)
	}
	return true
}

// tally is what workers have got.
type tally struct {
	mu     sync.Mutex
	leased map[string]int
	acked  int
	hungUp int
}

// work leases and acks until everything is acked.
func (w *impatient) work(t *testing.T, all int, sum *tally) {
	t.Helper()
	var acks []wire.OpForm
	for request := 1; ; request++ {
		done := w.step(t.Context(), t, wire.StepForm{
			Worker: w.name, Ops: acks, Max: 5, Terms: wire.Terms{RequestID: fmt.Sprintf("r%d", request), Wait: "0.2s"},
		})
		acks = nil
		sum.mu.Lock()
		for _, r := range done.Results {
			sum.acked++
			if r.Outcome != "ok" || r.State != "done" {
				t.Errorf("%s: %+v", w.name, r)
			}
		}
		for _, i := range done.Items {
			sum.leased[i.ID]++
			acks = append(acks, wire.OpForm{Op: "ack", ID: i.ID, OpFields: wire.OpFields{Attempt: i.Attempt}})
			if i.Attempt != 1 || i.Failures != 0 {
				t.Errorf("%s: %+v", w.name, i)
			}
		}
		over := sum.acked >= all
		if over {
			sum.hungUp += w.left
		}
		sum.mu.Unlock()
		if over {
			return
		}
	}
}

// TestWorkersThatHangUpLoseNothing: with request ids every item is leased once and acked once, however often answers are lost.
func TestWorkersThatHangUpLoseNothing(t *testing.T) {
	t.Parallel()
	const producers, workers, each = 4, 8, 50
	b := withRealQueue(t)
	sum := &tally{leased: map[string]int{}}
	var wg sync.WaitGroup
	for p := range producers {
		wg.Go(func() {
			for i := range each {
				b.do(t, http.MethodPost, queuePath+"/items", fmt.Sprintf(`{"items":[{"id":"p%d-%d","payload":%d,"priority":%d}]}`, p, i, i, 1+i%5))
			}
		})
	}
	for n := range workers {
		wg.Go(func() { (&impatient{bundle: b, name: fmt.Sprintf("w%d", n)}).work(t, producers*each, sum) })
	}
	wg.Wait()
	for id, n := range sum.leased {
		if n != 1 {
			t.Errorf("%s was leased %d times", id, n)
		}
	}
	if len(sum.leased) != producers*each || sum.acked != producers*each || sum.hungUp < workers {
		t.Errorf("%d leased, %d acked; workers hung up %d times", len(sum.leased), sum.acked, sum.hungUp)
	}
	if got := b.get(t, queuePath); !bytes.Contains([]byte(got.body), []byte(`"ready":0,"assigned":0,"leased":0,`)) {
		t.Errorf("left: %s", got.body)
	}
}
