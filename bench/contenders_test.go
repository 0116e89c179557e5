package bench

import (
	"context"
	"sync"
	"testing"
)

func contenders() []contender {
	return []contender{
		lists(), asynqOne(), asynqMany(), asynqUnique(), viaRiver(),
		tallyman(), tallymanKeyed(), withLedger(), withoutTrace(),
	}
}

// TestEveryJobOnce holds what is measured: each contender takes every job once.
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
