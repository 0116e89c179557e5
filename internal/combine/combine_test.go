package combine_test

import (
	"context"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"tallyman/internal/combine"
)

// A call continues when all its callers have left. Code that closes the client must be able to wait for its end.
func TestRestWaitsForACallWhoseCallersHaveLeft(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		over := make(chan struct{})
		c := &combine.Calls[int]{Flights: 2, Fits: func([]*combine.Part[int], int) bool { return false }}
		c.Call = func(_ context.Context, _ int, parts []*combine.Part[int]) {
			<-over
			for _, p := range parts {
				p.Answer()
			}
		}
		c.Rest() // nothing is under way
		ctx, leave := context.WithCancel(t.Context())
		for i := range 3 {
			go func() { _ = c.Do(ctx, i) }()
		}
		synctest.Wait()
		leave()
		rested := make(chan struct{})
		go func() {
			defer close(rested)
			c.Rest()
		}()
		synctest.Wait()
		select {
		case <-rested:
			t.Fatal("rest returned while calls were under way")
		default:
		}
		close(over)
		<-rested
	})
}

// calls counts the parts of each call, which takes a second.
func calls(gather time.Duration) (*combine.Calls[int], *[]int) {
	var sizes []int
	c := &combine.Calls[int]{Flights: 2, Gather: gather, Fits: func(parts []*combine.Part[int], _ int) bool { return len(parts) < 5 }}
	var mu sync.Mutex
	c.Call = func(_ context.Context, _ int, parts []*combine.Part[int]) {
		mu.Lock()
		sizes = append(sizes, len(parts))
		mu.Unlock()
		time.Sleep(time.Second) //nolint:forbidigo // the bubble's clock
		for _, p := range parts {
			p.Answer()
		}
	}
	return c, &sizes
}

// The first call runs at once. Parts that arrive during a call wait for the next one, unless that call is full.
func TestCallsGather(t *testing.T) {
	t.Parallel()
	for name, each := range map[string]struct {
		gather time.Duration
		calls  []time.Duration // when somebody calls, from the start
		sizes  []int
		took   time.Duration
	}{
		"alone":             {10 * time.Second, []time.Duration{0, 5 * time.Second, 10 * time.Second}, []int{1, 1, 1}, 11 * time.Second},
		"no gathering":      {0, []time.Duration{0, 1, 2, 3}, []int{1, 1, 2}, 2 * time.Second},
		"while one is away": {10 * time.Second, []time.Duration{0, 1, 2, 3}, []int{1, 3}, 11*time.Second + 1},
		"full":              {10 * time.Second, []time.Duration{0, 1, 2, 3, 4, 5, 6}, []int{1, 5, 1}, 12 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				c, sizes := calls(each.gather)
				began := time.Now()
				var callers sync.WaitGroup
				for _, at := range each.calls {
					callers.Go(func() {
						time.Sleep(at) //nolint:forbidigo // the bubble's clock
						_ = c.Do(t.Context(), 0)
					})
				}
				callers.Wait()
				c.Rest()
				if took := time.Since(began); !slices.Equal(*sizes, each.sizes) || took != each.took {
					t.Errorf("calls of %v took %s, instead of %v in %s", *sizes, took, each.sizes, each.took)
				}
			})
		})
	}
}
