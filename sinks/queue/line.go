package queue

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"tallyman/internal/combine"
	"tallyman/internal/item"
)

// queueLine is a queue as its scripts see it: the queue itself, or its test twin. A line does not follow epochs: each
// call names an epoch, and fails with a recovery.EpochError if Redis is at another one.
type queueLine struct {
	o       *Options
	name    string // in the ledger
	test    bool
	keys    keySpace
	all     []string // the result of keys.all
	scripts *scripts
	log     *slog.Logger
	waiters waiters // calls of this process that wait for items

	settings *liveSettings
	life     string // a random name of this process, because two nodes may have the same name
	calls    atomic.Int64
	steps    *combine.Calls[*request]
	commits  *combine.Calls[*pushRecords]
	enqueues *combine.Calls[*enqueueRequest]
	trouble  atomic.Pointer[error] // the last error of a script that was called; nil means the last call succeeded
}

func newLine(o *Options, settings *liveSettings, test bool) (*queueLine, error) {
	k, err := newKeys(o.Prefix, o.Name, test)
	if err != nil {
		return nil, err
	}
	l := &queueLine{
		o: o, name: o.Name, test: test, keys: k, all: k.all(0), scripts: newScripts(), log: o.Logger.With("queue", o.Name),
		settings: settings, life: rand.Text(),
	}
	if test {
		l.name += ":test"
		l.log = o.Logger.With("queue", l.name)
	}
	l.steps, l.commits, l.enqueues = l.newSteps(), l.newCommits(), l.newEnqueues()
	return l, nil
}

// nextCall returns a new name for a call of a script.
func (l *queueLine) nextCall() string { return l.life + "/" + strconv.FormatInt(l.calls.Add(1), 10) }

// hint returns the first word of the messages that the scripts publish on keys.hints:
//
//	ready                    an item will be due soon
//	ready warehouse          items became ready in the warehouse; * means in many warehouses
//	ready warehouse worker   items became ready that only this worker or subject may lease
//
// An empty message says that an epoch has begun.
func (l *queueLine) hint() string { return "ready" }

// node is an argument of the scripts: the node that writes to the outbox. Empty means that nothing is recorded, because
// there is no ledger.
func (l *queueLine) node() string {
	if l.o.Ledger == nil {
		return ""
	}
	return l.o.Node
}

// now is an argument of the scripts. 0 makes them use the server's own clock.
func (l *queueLine) now() string {
	if l.o.Now == nil {
		return "0"
	}
	return strconv.FormatInt(l.o.Now().UnixMicro(), 10)
}

// time returns the time of the clock that the scripts use, for comparisons in Go.
func (l *queueLine) time() time.Time {
	if l.o.Now == nil {
		return time.Now()
	}
	return l.o.Now()
}

// run calls a script that answers with a list, and gives errors of our scripts their types.
func (l *queueLine) run(ctx context.Context, s *redis.Script, keys []string, args ...any) ([]any, error) {
	reply, err := s.Run(ctx, l.o.Client, keys, args...).Slice()
	return reply, known(err)
}

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

// count reads a number that was sent as a text.
func (p *replyReader) count() int64 {
	n, err := strconv.ParseInt(p.text(), 10, 64)
	if err != nil {
		p.err = errAnswer
	}
	return n
}

// readLease returns the form of a leased item for its worker.
func readLease(id, value string) (item.Lease, error) {
	it, err := parseValue(id, value)
	return item.Lease{
		ID: id, Warehouse: it.Warehouse, Attempt: it.Attempt, Priority: it.Priority, Order: it.Order, Payload: it.Payload, Until: it.Due, Created: it.Created,
		Failures: it.Failures, Suspends: it.Suspends,
	}, err
}

// insist calls f until f succeeds, f finds that the epoch is over, or callTimeout ends. After a timeout, insist returns
// the last error other than the timeout itself. If there was no other error, it returns the timeout.
func (l *queueLine) insist(ctx context.Context, f func(context.Context) error) error {
	ctx, cancel := context.WithTimeoutCause(ctx, callTimeout, fmt.Errorf("no answer from Redis within %s", callTimeout))
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

// because adds the last error of the shared calls to the error of a caller whose time is over.
func (l *queueLine) because(err error) error {
	if trouble := l.trouble.Load(); trouble != nil && errors.Is(err, context.DeadlineExceeded) && !errors.Is(*trouble, context.DeadlineExceeded) {
		return fmt.Errorf("%w: %w", err, *trouble)
	}
	return err
}
