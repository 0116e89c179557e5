package app

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// numbers is a ledger that has only numbers.
type numbers struct {
	mu  sync.Mutex
	all map[string]int64
	err error
}

func (n *numbers) Numbers(context.Context) (map[string]int64, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return maps.Clone(n.all), n.err
}

func (n *numbers) set(name string, value int64, err error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.all[name], n.err = value, err
}

func TestFollower(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		n := &numbers{all: map[string]int64{"tokens": 7, "other": 1}}
		f := &follower{ledger: n, turned: func() {}, log: slog.New(slog.DiscardHandler)}
		var reads atomic.Int32
		var bad atomic.Bool
		read := func(context.Context) error {
			reads.Add(1)
			if bad.Load() {
				return errors.New("no")
			}
			return nil
		}
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		if err := f.add(ctx, "tokens", read); err != nil || reads.Load() != 1 {
			t.Fatalf("%v, %d reads", err, reads.Load())
		}
		if err := f.add(ctx, "nothing", read); err == nil {
			t.Error("a number that is not there was taken")
		}
		go f.run(ctx)
		after := func(want int32, why string) {
			t.Helper()
			<-time.After(time.Second) // of the bubble's clock
			synctest.Wait()
			if reads := reads.Load(); reads != want {
				t.Errorf("%s: %d reads, want %d", why, reads, want)
			}
		}
		after(1, "nothing has changed")
		n.set("other", 2, nil)
		after(1, "something else has changed")
		n.set("tokens", 8, nil)
		after(2, "it has changed")
		n.set("tokens", 9, errors.New("away"))
		after(2, "the ledger is away")
		n.set("tokens", 9, nil)
		after(3, "the ledger is back")
		bad.Store(true)
		n.set("tokens", 10, nil)
		after(8, "it cannot be read, and is tried each time")
		bad.Store(false)
		after(9, "it can be read")
		after(9, "nothing has changed since")
	})
}

// A read that fails or hangs does not stop the others.
func TestFollowerGoesOn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		n := &numbers{all: map[string]int64{"broken": 1, "hanging": 1, "switches": 1}}
		f := &follower{ledger: n, turned: func() {}, log: slog.New(slog.DiscardHandler)}
		var live atomic.Bool
		var reads atomic.Int32
		for name, read := range map[string]func(context.Context) error{
			"broken": func(context.Context) error { return errors.New("no") },
			"hanging": func(ctx context.Context) error {
				<-ctx.Done()
				return ctx.Err()
			},
		} {
			if err := f.add(t.Context(), name, func(ctx context.Context) error {
				if live.Load() {
					return read(ctx)
				}
				return nil
			}); err != nil {
				t.Fatal(err)
			}
		}
		if err := f.add(t.Context(), "switches", func(ctx context.Context) error {
			reads.Add(1)
			return ctx.Err()
		}); err != nil {
			t.Fatal(err)
		}
		live.Store(true)
		for name := range n.all {
			n.set(name, 2, nil)
		}
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		go f.run(ctx)
		<-time.After(followTimeout + time.Second) // of the bubble's clock
		synctest.Wait()
		if got := reads.Load(); got != 2 {
			t.Errorf("the switches were read %d times, want 2: at the start, and when they had changed", got)
		}
	})
}

// A read that fails does not stop the others.
func TestFollowerGoesOnBehindWhatFails(t *testing.T) {
	t.Parallel()
	n := &numbers{all: map[string]int64{"silences": 1, "switches": 1}}
	f := &follower{ledger: n, turned: func() {}, log: slog.New(slog.DiscardHandler)}
	var bad error
	reads := 0
	if err := errors.Join(
		f.add(t.Context(), "silences", func(context.Context) error { return bad }),
		f.add(t.Context(), "switches", func(context.Context) error { reads++; return nil }),
	); err != nil {
		t.Fatal(err)
	}
	bad = errors.New("no")
	n.set("silences", 2, nil)
	n.set("switches", 2, nil)
	for range 3 {
		if err := f.look(t.Context()); !errors.Is(err, bad) {
			t.Errorf("got %v", err)
		}
	}
	if reads != 2 {
		t.Errorf("what could be read was read %d times", reads)
	}
}
