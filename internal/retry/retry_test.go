package retry_test

import (
	"testing"
	"time"

	"tallyman/internal/retry"
)

func TestPausesDoubleAndHalfOfEachIsRandom(t *testing.T) {
	t.Parallel()
	const first, longest = 100 * time.Millisecond, 2 * time.Second
	p := retry.New(first, longest)
	for range 100 {
		for whole := first; whole < 4*longest; whole *= 2 {
			most := min(whole, longest)
			if got := p.Next(); got < most/2-time.Microsecond || got > most+time.Microsecond {
				t.Fatalf("a pause of %s, want %s to %s", got, most/2, most)
			}
		}
		if !p.HasFailed() {
			t.Fatal("it has not failed")
		}
		p.Reset()
		if p.HasFailed() {
			t.Fatal("it has failed after a reset")
		}
	}
}
