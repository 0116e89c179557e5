package queue

import (
	"context"
	"testing"
	"testing/synctest"
)

// A call goes on when those who shared it have left. Whoever closes the client must know when it is over.
func TestRestWaitsForACallWhoseCallersHaveLeft(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		over := make(chan struct{})
		c := &combiner[int]{flights: 2, fits: func([]*callPart[int], int) bool { return false }}
		c.call = func(_ context.Context, _ int, parts []*callPart[int]) {
			<-over
			for _, p := range parts {
				p.answer()
			}
		}
		c.rest() // nothing is under way
		ctx, leave := context.WithCancel(t.Context())
		for i := range 3 {
			go func() { _ = c.do(ctx, i) }()
		}
		synctest.Wait()
		leave()
		rested := make(chan struct{})
		go func() {
			defer close(rested)
			c.rest()
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
