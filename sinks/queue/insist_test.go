package queue

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"tallyman/internal/combine"
)

// TestTheCauseIsNamed tests that the error of an unavailable queue names the cause, whether the time of the call or of
// its caller ended first.
func TestTheCauseIsNamed(t *testing.T) {
	t.Parallel()
	refused := errors.New("connection refused")
	for name, first := range map[string]time.Duration{"the call": 2 * callTimeout, "the caller": callTimeout - time.Second} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				l := &queueLine{}
				calls := combine.Calls[int]{Flights: 1, Fits: func([]*combine.Part[int], int) bool { return false }}
				calls.Call = func(ctx context.Context, _ int, parts []*combine.Part[int]) {
					tries := 0
					parts[0].Err = l.insist(ctx, func(ctx context.Context) error {
						if tries++; tries < 3 {
							return refused
						}
						<-ctx.Done() // the last try hangs
						return ctx.Err()
					})
					parts[0].Answer()
				}
				ctx, cancel := context.WithTimeout(t.Context(), first)
				defer cancel()
				if err := l.because(calls.Do(ctx, 1)); !errors.Is(err, refused) {
					t.Errorf("the error is %v", err)
				}
				calls.Rest()
			})
		})
	}
}

// Trouble that is over is no cause of anything.
func TestTroubleThatIsOverIsNotNamed(t *testing.T) {
	t.Parallel()
	l, tries := &queueLine{}, 0
	err := l.insist(t.Context(), func(context.Context) error {
		if tries++; tries < 2 {
			return errors.New("connection refused")
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := l.because(context.DeadlineExceeded); err != context.DeadlineExceeded { //nolint:errorlint // nothing may be added
		t.Errorf("the error is %v", err)
	}
}
