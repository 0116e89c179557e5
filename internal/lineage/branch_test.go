package lineage

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"tallyman/internal/ledger"
)

// branches is the part of a ledger that a Branch calls, in memory.
type branches struct {
	mu      sync.Mutex
	numbers map[string]int64
	down    error
	other   int64
	forgot  int
}

func (l *branches) GrowBranch(_ context.Context, branch string, number int64) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.down != nil {
		return l.down
	}
	if have := l.numbers[branch]; number > 1 && have != number && have != number-1 {
		return ledger.ErrForked
	}
	l.numbers[branch] = max(number, l.numbers[branch])
	return nil
}

func (l *branches) HasBranch(_ context.Context, branch string, number int64) (bool, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	have, ok := l.numbers[branch]
	return ok && have >= number, l.down
}

func (l *branches) Incarnation() int64 { return l.other }

func (l *branches) ForgetRows() { l.forgot++ }

// copied and restored make and restore a backup of the ledger.
func (l *branches) copied() map[string]int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return maps.Clone(l.numbers)
}

func (l *branches) restored(from map[string]int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.numbers = maps.Clone(from)
}

func TestMarksOfALedgerThatWasRestored(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := &branches{numbers: map[string]int64{}}
		a, err := Begin(t.Context(), l, slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		var running sync.WaitGroup
		running.Go(func() { a.Run(ctx) })
		defer running.Wait()
		defer stop()
		knows := func(mark string, want bool) {
			t.Helper()
			if got, err := a.HasMark(t.Context(), mark); err != nil || got != want {
				t.Errorf("the ledger knows %q: %v, %v; want %v", mark, got, err, want)
			}
		}
		time.Sleep(time.Minute) //nolint:forbidigo // in a bubble
		synctest.Wait()
		backup, early := l.copied(), a.Mark()
		time.Sleep(time.Minute) //nolint:forbidigo // in a bubble
		synctest.Wait()
		late := a.Mark()
		if early == late || !strings.HasPrefix(late, "25-") || a.Incarnation() != 0 {
			t.Errorf("marks %q and %q, incarnation %d", early, late, a.Incarnation())
		}
		knows(early, true)
		knows(late, true)

		l.restored(backup)
		knows(early, true)
		knows(late, false)
		time.Sleep(growEvery) //nolint:forbidigo // in a bubble
		synctest.Wait()
		if mark := a.Mark(); !strings.HasPrefix(mark, "1-") || a.Incarnation() != 1 || l.forgot != 1 {
			t.Errorf("after the restore the mark is %q, the incarnation %d; rows were forgotten %d times", mark, a.Incarnation(), l.forgot)
		}
		time.Sleep(time.Hour) //nolint:forbidigo // in a bubble; the restored ledger goes on, and never knows the late mark
		knows(early, true)
		knows(late, false)
		knows(a.Mark(), true)
		for _, text := range []string{"", "-", "x", "1", "1-", "x-" + a.name} {
			knows(text, false)
		}
	})
}

func TestBranchStandsStillWhileTheLedgerIsAway(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := &branches{numbers: map[string]int64{}, down: errors.New("away")}
		if _, err := Begin(t.Context(), l, slog.New(slog.DiscardHandler)); !errors.Is(err, l.down) {
			t.Errorf("a branch began: %v", err)
		}
		l.down = nil
		b, err := Begin(t.Context(), l, slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		mark := b.Mark()
		l.down = errors.New("away")
		if err := b.Grow(t.Context()); !errors.Is(err, l.down) || b.Mark() != mark || b.Incarnation() != 0 {
			t.Errorf("the branch grew to %q, incarnation %d: %v", b.Mark(), b.Incarnation(), err)
		}
		l.down, l.other = nil, 3
		if err := b.Grow(t.Context()); err != nil || b.Mark() == mark || b.Incarnation() != 3 {
			t.Errorf("the branch is at %q, incarnation %d: %v", b.Mark(), b.Incarnation(), err)
		}
	})
}
