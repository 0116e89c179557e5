package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"tallyman/internal/ledger"
)

const (
	followEvery   = 200 * time.Millisecond
	followTimeout = 5 * time.Second // for one question to the ledger, or one thing that is read again
)

// follower keeps in step with the ledger what a node has in memory of it.
type follower struct {
	ledger ledger.Numbers
	log    *slog.Logger
	list   []*followed
	failed bool // the last question was not answered
}

// followed is one kind of thing; see ledger.Numbers.
type followed struct {
	name  string // of its number
	known int64
	read  func(context.Context) error
}

// add reads it now, and again whenever its number has grown. Call it before run.
func (f *follower) add(ctx context.Context, name string, read func(context.Context) error) error {
	numbers, err := f.ledger.Numbers(ctx)
	if err != nil {
		return fmt.Errorf("the ledger's number %s: %w", name, err)
	}
	known, ok := numbers[name]
	if !ok {
		return fmt.Errorf("the ledger has no number %s", name)
	}
	if err := read(ctx); err != nil {
		return err
	}
	f.list = append(f.list, &followed{name: name, known: known, read: read})
	return nil
}

// run follows until the context ends. What cannot be read stays as it was, and is read again.
func (f *follower) run(ctx context.Context) {
	tick := time.NewTicker(followEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if err := f.look(ctx); err != nil && ctx.Err() == nil && !f.failed {
			f.failed = true
			f.log.Warn("what other nodes have changed is not seen", "error", err)
		} else if err == nil {
			f.failed = false
		}
	}
}

// look reads what has changed. One thing that cannot be read keeps no other back.
func (f *follower) look(ctx context.Context) error {
	var numbers map[string]int64
	err := within(ctx, func(ctx context.Context) (err error) {
		numbers, err = f.ledger.Numbers(ctx)
		return err
	})
	if err != nil {
		return err
	}
	var errs []error
	for _, one := range f.list {
		now := numbers[one.name]
		if now == one.known {
			continue
		}
		if err := within(ctx, one.read); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", one.name, err))
			continue
		}
		one.known = now
	}
	return errors.Join(errs...)
}

// within asks for as long as one question may take.
func within(ctx context.Context, ask func(context.Context) error) error {
	ctx, done := context.WithTimeout(ctx, followTimeout)
	defer done()
	return ask(ctx)
}
