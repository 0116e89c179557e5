package sinktest_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"

	"tallyman/internal/delivery"
	"tallyman/sinks"
	"tallyman/sinks/sinktest"
)

// board is the simplest possible push channel, with its server. It shows that the suite needs nothing more.
type board struct {
	mu     sync.Mutex
	answer sinktest.Answer
	keys   []string
	asked  int
}

var errBoard = errors.New("the board is away")

func (b *board) Push(ctx context.Context, batch []delivery.Delivery) error {
	if len(batch) == 0 {
		return nil
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	answer := b.ask(batch)
	switch answer {
	case sinktest.Hang:
		<-ctx.Done()
		return ctx.Err()
	case sinktest.Refuse:
		var seqs []int64
		for _, d := range batch {
			seqs = append(seqs, d.Seq)
		}
		return &sinks.RefusedError{Seqs: seqs, Err: errBoard}
	case sinktest.Later:
		return &sinks.LaterError{After: sinktest.LaterFor, Err: errBoard}
	case sinktest.Fail, sinktest.Break, sinktest.Lose:
		return errBoard
	default:
		return nil
	}
}

func (b *board) ask(batch []delivery.Delivery) sinktest.Answer {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.asked++
	if b.answer == sinktest.Take || b.answer == sinktest.Lose {
		var ids []string
		for _, d := range batch {
			ids = append(ids, d.Notice.ID)
		}
		b.keys = append(b.keys, strings.Join(ids, " "))
	}
	return b.answer
}

func TestPushSuite(t *testing.T) {
	t.Parallel()
	sinktest.RunPush(t, func(t *testing.T) sinktest.PushFixture {
		t.Helper()
		b := &board{answer: sinktest.Take}
		return sinktest.PushFixture{
			Pusher: b, Batches: true, Secrets: []string{"hush"},
			Answer: func(_ testing.TB, a sinktest.Answer) {
				b.mu.Lock()
				defer b.mu.Unlock()
				b.answer = a
			},
			Keys: func(testing.TB) []string {
				b.mu.Lock()
				defer b.mu.Unlock()
				return slices.Clone(b.keys)
			},
			Asked: func() int {
				b.mu.Lock()
				defer b.mu.Unlock()
				return b.asked
			},
		}
	})
}
