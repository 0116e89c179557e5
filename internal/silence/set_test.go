package silence

import (
	"errors"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

func TestHolding(t *testing.T) {
	t.Parallel()
	var set Set
	if got := set.Holding(noon, &bin); got != nil {
		t.Errorf("%+v", got)
	}
	set.Replace([]Silence{
		{ID: "s_short", Matchers: matchers(t, "rule=~neg.*"), From: noon, Until: noon.Add(time.Hour), Comment: "one"},
		{ID: "s_long", Matchers: matchers(t, "warehouse=119240", "area!=inbound"), From: noon, Until: noon.Add(2 * time.Hour)},
		{ID: "s_other", Matchers: matchers(t, "warehouse=119240", "area=inbound"), From: noon, Until: noon.Add(3 * time.Hour)},
		{ID: "s_later", Matchers: matchers(t, "warehouse=119240"), From: noon.Add(time.Hour), Until: noon.Add(3 * time.Hour)},
	})
	got := set.Holding(noon, &bin)
	if len(got) != 2 || got[0].ID != "s_long" || got[1] != (Holding{"s_short", noon.Add(time.Hour), "one"}) {
		t.Errorf("%+v", got)
	}
}

// What was read before a change is never put over what was read after it.
func TestAnOlderReadingDoesNotCount(t *testing.T) {
	t.Parallel()
	var set Set
	var changes atomic.Int64
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 200 {
				var mine int64
				err := set.Refresh(func() ([]Silence, error) {
					mine = changes.Add(1)
					runtime.Gosched()
					return []Silence{{Events: mine}}, nil
				})
				runtime.Gosched()
				if now := (*set.list.Load())[0].Events; err != nil || now < mine {
					t.Errorf("after change %d the list is that of change %d, %v", mine, now, err)
					return
				}
			}
		})
	}
	wg.Wait()
	if err := set.Refresh(func() ([]Silence, error) { return nil, errors.New("away") }); err == nil || len(*set.list.Load()) != 1 {
		t.Errorf("%v, and the list is gone", err)
	}
}
