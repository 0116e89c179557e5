package sinktest_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"tallyman/internal/delivery"
	"tallyman/internal/notice"
	"tallyman/internal/testenv"
	"tallyman/sinks"
	"tallyman/sinks/sinktest"
)

func TestMain(m *testing.M) { testenv.Main(m) }

// list is the simplest possible sink. It shows that the suite needs nothing more.
type list struct {
	got    []string
	scores map[string]int64
}

func (l *list) Deliver(ctx context.Context, _ string, batch []delivery.Delivery) ([]delivery.Receipt, error) {
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	for _, d := range batch {
		if _, err := notice.Marshal(d.Notice); err != nil {
			return nil, &sinks.RefusedError{Seqs: []int64{d.Seq}, Err: err}
		}
	}
	var out []delivery.Receipt
	for _, d := range batch {
		if l.scores[d.Notice.ID] == 0 {
			l.got = append(l.got, d.Notice.ID)
			l.scores[d.Notice.ID] = int64(len(l.got))
		}
		out = append(out, delivery.Receipt{Seq: d.Seq, Score: l.scores[d.Notice.ID]})
	}
	return out, nil
}

func newList() *list { return &list{scores: map[string]int64{}} }

func TestSuite(t *testing.T) {
	t.Parallel()
	sinktest.Run(t, func(t *testing.T) sinktest.Fixture {
		t.Helper()
		l := newList()
		return sinktest.Fixture{Sink: sinktest.NewFaulty(l), Received: func(testing.TB) []string { return l.got }}
	})
}

func TestFaulty(t *testing.T) {
	t.Parallel()
	l := newList()
	f := sinktest.NewFaulty(l)
	down := errors.New("down")
	batch := sinktest.Deliveries(1, 2)

	f.FailNext(1, down)
	if _, err := f.Deliver(t.Context(), sinktest.Lane, batch); !errors.Is(err, down) || len(l.got) != 0 {
		t.Errorf("failed before: %v, received %v", err, l.got)
	}
	f.LoseAnswers(1, down)
	if _, err := f.Deliver(t.Context(), sinktest.Lane, batch); !errors.Is(err, down) || len(l.got) != 2 {
		t.Errorf("failed after: %v, received %v", err, l.got)
	}
	if _, err := f.Deliver(t.Context(), sinktest.Lane, batch); err != nil || len(l.got) != 2 {
		t.Errorf("then: %v, received %v", err, l.got)
	}

	f.Hold()
	f.Hold()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := f.Deliver(ctx, sinktest.Lane, batch); !errors.Is(err, context.Canceled) {
		t.Errorf("held: %v", err)
	}
	done := make(chan error)
	go func() {
		_, err := f.Deliver(t.Context(), sinktest.Lane, sinktest.Deliveries(10, 1))
		done <- err
	}()
	testenv.Eventually(t, func() bool { return f.Calls() == 5 }, 10*time.Second)
	f.Release()
	f.Release()
	if err := <-done; err != nil || len(l.got) != 3 {
		t.Errorf("released: %v, received %v", err, l.got)
	}
}
