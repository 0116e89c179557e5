package combine_test

import (
	"context"
	"testing"
	"testing/synctest"

	"tallyman/internal/combine"
)

// A call goes on when those who shared it have left. Whoever closes the client must know when it is over.
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
