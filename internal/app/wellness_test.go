package app

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

// A part that hangs holds up no answer for long, and its look is not begun twice.
func TestWellnessDoesNotWaitForWhatHangs(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		looks, slow := 0, time.Duration(0)
		w := &wellness{look: func(ctx context.Context) []string {
			looks++
			select {
			case <-time.After(slow):
				return []string{"rules: 1 late"}
			case <-ctx.Done():
				return []string{"source wms"}
			}
		}}
		if got := w.get(); !slices.Equal(got, []string{"rules: 1 late"}) || looks != 1 {
			t.Errorf("the first answer: %q, %d looks", got, looks)
		}
		w.get()
		slow = time.Hour
		time.Sleep(wellFor) //nolint:forbidigo // the bubble's clock
		for range 3 {
			began := time.Now()
			if got := w.get(); !slices.Equal(got, []string{"rules: 1 late"}) || time.Since(began) > wellWait {
				t.Errorf("while it looks: %q after %s", got, time.Since(began))
			}
		}
		time.Sleep(wellFor) //nolint:forbidigo // the bubble's clock
		synctest.Wait()
		if got := w.get(); !slices.Equal(got, []string{"source wms"}) || looks != 2 {
			t.Errorf("after it looked: %q, %d looks", got, looks)
		}
		w.close()
		if w.refresh() != nil {
			t.Error("it looks after its end")
		}
	})
}
