package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"tallyman/internal/api/operate"
	"tallyman/internal/ledger"
	"tallyman/internal/notice"
	"tallyman/internal/silence"
)

const (
	followEvery   = 200 * time.Millisecond
	followTimeout = 5 * time.Second // for one question to the ledger, or one thing that is read again
)

// follower keeps in step with the ledger what a node has in memory of it.
type follower struct {
	ledger      ledger.Numbers
	incarnation func() int64 // of the ledger, see lineage.Branch; nil = it is always the same
	log         *slog.Logger
	list        []*followed
	failed      bool  // the last question was not answered
	known       int64 // the incarnation in which all was read
}

// followed is one kind of thing; see ledger.Numbers.
type followed struct {
	name  string // of its number
	known int64
	stale bool // the last reading failed
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
	all := f.isOther()
	var errs []error
	for _, one := range f.list {
		now := numbers[one.name]
		if now == one.known && !all && !one.stale {
			continue
		}
		if err := within(ctx, one.read); err != nil {
			one.stale = true
			errs = append(errs, fmt.Errorf("%s: %w", one.name, err))
			continue
		}
		one.known, one.stale = now, false
	}
	return errors.Join(errs...)
}

// isOther tells whether the ledger may be another one than at the last look: an older copy may have the same number for
// something else.
func (f *follower) isOther() bool {
	if f.incarnation == nil {
		return false
	}
	now := f.incarnation()
	other := now != f.known
	f.known = now
	return other
}

// within asks for as long as one question may take.
func within(ctx context.Context, ask func(context.Context) error) error {
	ctx, done := context.WithTimeout(ctx, followTimeout)
	defer done()
	return ask(ctx)
}

// openSilences reads the silences, and again whenever one is added or ended anywhere.
func (a *App) openSilences(ctx context.Context) error {
	return a.follow.add(ctx, "silences", a.readSilences)
}

// readSilences makes those the ledger has the ones that count on this node.
func (a *App) readSilences(ctx context.Context) error {
	err := a.silences.Refresh(func() ([]silence.Silence, error) { return a.ledger.Silences(ctx) })
	if err != nil {
		return fmt.Errorf("read the silences: %w", err)
	}
	return nil
}

// silenced names the silence that holds back the deliveries of a notice, and for how much longer it does on the
// machine's clock. It is the one that lasts longest: if somebody ends it, the next is asked for.
func (a *App) silenced(n *notice.Notice) (id string, left time.Duration) {
	now := a.opts.Clock.Now()
	holding := a.silences.Holding(now, silence.SubjectOf(n))
	if len(holding) == 0 {
		return "", 0
	}
	return holding[0].ID, a.opts.Clock.Real(holding[0].Until.Sub(now))
}

func (a *App) servedSilences() operate.Silences {
	return operate.Silences{Ledger: a.ledger, Now: a.opts.Clock.Now, Changed: a.readSilences}
}
