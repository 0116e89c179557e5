package recovery

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"
)

// The check that ends a generation goes well. Until there is another, the reason why there is none stays.
func TestTheCauseOfALossStays(t *testing.T) {
	t.Parallel()
	k := bare(ErrUnavailable)
	g := &Generation{Epoch: "1-a"}
	k.generations.begin(g)
	odd := errors.New("odd")
	k.generations.lose(g, odd)
	k.generations.fail(nil)
	if err := k.Ready(); !errors.Is(err, odd) {
		t.Errorf("Ready: %v", err)
	}
	down := errors.New("down")
	k.generations.fail(down)
	if err := k.Ready(); !errors.Is(err, down) {
		t.Errorf("Ready: %v", err)
	}
	k.generations.begin(&Generation{Epoch: "2-b"})
	k.generations.fail(down) // a check that failed while there is one is Keeper.reach's business
	if err := k.Ready(); err != nil {
		t.Errorf("Ready: %v", err)
	}
}

// bare is a keeper without Redis: its generations are set by hand.
func bare(unavailable error) *Keeper {
	return &Keeper{o: Options{Unavailable: unavailable}, generations: newGenerations(), kick: make(chan struct{}, 1)}
}

func TestServeWaitsForAnEpochAndThenSaysSo(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		gone := errors.New("nothing to serve")
		k := bare(gone)
		began := time.Now()
		err := k.Serve(t.Context(), func(context.Context, *Generation) error { t.Error("called"); return nil })
		if !errors.Is(err, gone) || !errors.Is(err, errStarting) || time.Since(began) != CallTimeout {
			t.Errorf("%v after %s", err, time.Since(began))
		}
		go k.generations.begin(&Generation{Epoch: "1-a"})
		if err := k.Serve(t.Context(), func(context.Context, *Generation) error { return nil }); err != nil {
			t.Error(err)
		}
	})
}

func TestServeTriesAgainInTheNextEpoch(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		k := bare(ErrUnavailable)
		k.log = slog.New(slog.DiscardHandler)
		k.generations.begin(&Generation{Epoch: "1-a"})
		var seen []string
		err := k.Serve(t.Context(), func(_ context.Context, g *Generation) error {
			seen = append(seen, g.Epoch)
			switch len(seen) {
			case 1: // it finds out
				k.Lose(g, errors.New("odd"))
				k.generations.begin(&Generation{Epoch: "2-b"})
				return ErrLost
			case 2: // somebody else does, while it believes to have succeeded
				k.Lose(g, errors.New("odd"))
				k.generations.begin(&Generation{Epoch: "3-c"})
				return nil
			case 3:
				return errors.New("the connection broke")
			}
			return nil
		})
		if err != nil || len(seen) != 4 || seen[3] != "3-c" {
			t.Errorf("%v, %v", seen, err)
		}
	})
}

func TestServeEndsWithItsTimeoutAndItsContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		k := bare(ErrUnavailable)
		k.generations.begin(&Generation{Epoch: "1-a"})
		down := errors.New("down")
		fails := func(context.Context, *Generation) error { return down }
		if err := k.Serve(t.Context(), fails); !errors.Is(err, ErrUnavailable) || !errors.Is(err, down) {
			t.Error(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := k.Serve(ctx, fails); !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
	})
}
