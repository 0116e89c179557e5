package bench

import (
	"bytes"
	"context"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// job goes through a queue. Its payload of 300 bytes has the number of the job, and its priority is one of five.
type job struct {
	n       int
	payload []byte
}

const (
	levels      = 5
	payloadSize = 300
)

// priority spreads the jobs over the levels evenly.
func (j job) priority() int { return j.n%levels + 1 }

// filler has the text that fills a payload up to payloadSize.
var filler = strings.Repeat("x", payloadSize-2) + `"}`

// newJob makes the job with the number n. No two payloads are alike.
func newJob(n int) job {
	p := make([]byte, 0, payloadSize)
	p = append(p, `{"n":`...)
	p = strconv.AppendInt(p, int64(n), 10)
	p = append(p, `,"text":"`...)
	return job{n: n, payload: append(p, filler[len(p):]...)}
}

// number reads the number of a job from its payload, which PostgreSQL may have formatted anew. It returns -1 where
// there is none.
func number(payload []byte) int {
	_, after, found := bytes.Cut(payload, []byte(`:`))
	text, _, more := bytes.Cut(after, []byte(`,`))
	n, err := strconv.Atoi(string(bytes.TrimSpace(text)))
	if !found || !more || err != nil {
		return -1
	}
	return n
}

// jobs makes n jobs. Their numbers begin with first.
func jobs(first, n int) []job {
	list := make([]job, n)
	for i := range list {
		list[i] = newJob(first + i)
	}
	return list
}

// cell is one way to use a queue: how many jobs in one call, and how many goroutines that call.
type cell struct{ batch, workers int }

// contender is one queue, with the settings that make it fastest.
type contender struct {
	name string
	// open makes the queue ready on empty servers.
	open func(t testing.TB, s *servers) queue
	// backlog is how many jobs the contender works off in about a second.
	backlog func(c cell) int
	// ahead is how many jobs the pushers may be ahead of the workers while both run.
	ahead func(c cell) int
}

// queue is a running contender.
type queue interface {
	// push pushes the jobs, in one call if the library has such a call.
	push(ctx context.Context, jobs []job) error
	// start begins to take and to ack. taken gets the payload of each job. acked gets the number of jobs whose ack was
	// answered. Where a library hides that moment, acked gets the number of jobs whose handler is done.
	start(ctx context.Context, c cell, taken func(payload []byte), acked func(n int)) error
	// settle waits until nothing is left to do for the acked jobs.
	settle(ctx context.Context) error
	// close ends the workers and returns when they have ended.
	close()
}

func contenders() []contender {
	return []contender{
		lists(), asynqOne(), asynqMany(), asynqUnique(), viaRiver(),
		tallyman(), tallymanKeyed(), withLedger(), withoutTrace(),
	}
}

// TestEveryJobOnce checks that the benchmarks measure complete work: each contender takes every job once.
func TestEveryJobOnce(t *testing.T) {
	s := newServers(t)
	for _, k := range contenders() {
		t.Run(k.name, func(t *testing.T) {
			const n = 1000
			measure(t, s, k, cell{batch: 10, workers: 4}, func(ctx context.Context, r *run) sample {
				r.load(ctx, n)
				var mu sync.Mutex
				taken := map[int]int{}
				r.start(ctx, func(payload []byte) {
					mu.Lock()
					defer mu.Unlock()
					taken[number(payload)]++
				})
				r.finish(ctx)
				mu.Lock()
				defer mu.Unlock()
				for i := range n {
					if taken[i] != 1 {
						t.Errorf("job %d was taken %d times", i, taken[i])
					}
				}
				if len(taken) != n {
					t.Errorf("%d different jobs were taken, want %d", len(taken), n)
				}
				return sample{}
			})
		})
	}
}
