package inbox

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"sync"
	"sync/atomic"
	"testing"
)

// A caller never gets a read that began before its own call, so it sees everything that was written before the call.
func TestSharedReadsAreNeverOld(t *testing.T) {
	t.Parallel()
	var written, reads atomic.Int64
	c := clockReader{ask: func(_ context.Context, warehouses []string) ([]clockState, error) {
		reads.Add(1)
		states := make([]clockState, len(warehouses))
		for i := range states {
			states[i].clock = written.Load()
		}
		return states, nil
	}}
	const callers, each = 8, 2000
	var wg sync.WaitGroup
	for i := range callers {
		wg.Go(func() {
			for range each {
				mine := written.Add(1)
				if got, err := c.read(t.Context(), fmt.Sprint("w", i%3)); err != nil || got.clock < mine {
					t.Errorf("read %d after writing %d: %v", got.clock, mine, err)
					return
				}
			}
		})
	}
	wg.Wait()
	if n := reads.Load(); n > callers*each {
		t.Errorf("%d reads for %d callers", n, callers*each)
	}
}

func TestSharedReadsAreShared(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	var asked [][]string
	c := clockReader{ask: func(_ context.Context, warehouses []string) ([]clockState, error) {
		<-release
		asked = append(asked, warehouses)
		states := make([]clockState, len(warehouses))
		for i := range states {
			states[i].clock = int64(100*len(asked) + i)
		}
		return states, nil
	}}
	first, _ := c.join(t.Context(), "a")
	second, _ := c.join(t.Context(), "a")
	for range 100 { // all of these come while the first read is under way, and share the second
		if batch, at := c.join(t.Context(), "b"); batch != second || at != 1 {
			t.Fatal("a read of its own")
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := c.read(ctx, "a"); !errors.Is(err, context.Canceled) {
		t.Errorf("a caller that left: %v", err)
	}
	close(release)
	<-first.done
	<-second.done
	if want := [][]string{{"a"}, {"a", "b"}}; !reflect.DeepEqual(asked, want) {
		t.Errorf("asked for %v, want %v", asked, want)
	}
	if first.states[0].clock != 100 || second.states[1].clock != 201 {
		t.Errorf("answers %+v and %+v", first.states, second.states)
	}
}

func TestAFailedReadFailsForAllWhoShareIt(t *testing.T) {
	t.Parallel()
	down := errors.New("down")
	c := clockReader{ask: func(context.Context, []string) ([]clockState, error) { return nil, down }}
	for range 2 { // and the next one asks again
		if _, err := c.read(t.Context(), "a"); !errors.Is(err, down) {
			t.Errorf("error %v", err)
		}
	}
}
