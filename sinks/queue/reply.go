package queue

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"tallyman/internal/item"
)

// replyReader reads the answer of a script value by value, and keeps the first error.
type replyReader struct {
	reply []any
	at    int
	err   error
}

func (p *replyReader) next() any {
	if p.at >= len(p.reply) {
		p.err = errAnswer
		return nil
	}
	p.at++
	return p.reply[p.at-1]
}

func (p *replyReader) text() string {
	s, ok := p.next().(string)
	if !ok {
		p.err = errAnswer
	}
	return s
}

func (p *replyReader) number() int64 {
	n, ok := p.next().(int64)
	if !ok {
		p.err = errAnswer
	}
	return n
}

// count is a number that came as a text.
func (p *replyReader) count() int64 {
	n, err := strconv.ParseInt(p.text(), 10, 64)
	if err != nil {
		p.err = errAnswer
	}
	return n
}

// readLease is what a worker is told of an item that it was given.
func readLease(id, value string) (item.Lease, error) {
	it, err := parseValue(id, value)
	return item.Lease{
		ID: id, Warehouse: it.Warehouse, Attempt: it.Attempt, Priority: it.Priority, Payload: it.Payload, Until: it.Due, Created: it.Created,
		Failures: it.Failures, Suspends: it.Suspends,
	}, err
}

// insist calls f until it succeeds, finds that the epoch is over, or patience ends. Then the error is the last one that says more
// than that.
func (l *line) insist(ctx context.Context, f func(context.Context) error) error {
	ctx, cancel := context.WithTimeoutCause(ctx, patience, fmt.Errorf("no answer from Redis within %s", patience))
	defer cancel()
	var trouble error
	for {
		err := f(ctx)
		if err == nil || epochIsOver(err) {
			l.trouble.Store(nil)
			return err
		}
		if trouble == nil || !errors.Is(err, context.DeadlineExceeded) {
			trouble = err
			l.trouble.Store(&err)
		}
		pause := time.NewTimer(retryPause)
		select {
		case <-pause.C:
		case <-ctx.Done():
			pause.Stop()
			return trouble
		}
	}
}

// because adds to the error of a caller whose time is over what the calls that it shares have met last.
func (l *line) because(err error) error {
	if trouble := l.trouble.Load(); trouble != nil && errors.Is(err, context.DeadlineExceeded) && !errors.Is(*trouble, context.DeadlineExceeded) {
		return fmt.Errorf("%w: %w", err, *trouble)
	}
	return err
}
