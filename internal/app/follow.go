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
	followTimeout = 5 * time.Second // The time limit of one question to the ledger.
)

// follower keeps copies of the ledger's data in memory up to date. The ledger has a number for each kind of data, which
// grows with each change (ledger.Numbers).
type follower struct {
	ledger      ledger.Numbers
	incarnation func() int64 // The incarnation of the ledger, see lineage.Branch. Nil means it never changes.
	turned      func()       // Called at each turn of the loop.
	log         *slog.Logger
	list        []*followed
	failed      bool  // The last look failed.
	known       int64 // The incarnation at the last look.
}

// followed is one kind of data.
type followed struct {
	name  string // The name of its number.
	known int64
	stale bool // The last read failed.
	read  func(context.Context) error
}

// add reads the data now, and run reads it again whenever its number has changed. Call add before run.
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

// run follows the ledger until the context ends. Data that cannot be read stays as it was, and is read again.
func (f *follower) run(ctx context.Context) {
	tick := time.NewTicker(followEvery)
	defer tick.Stop()
	for {
		f.turned()
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if err := f.look(ctx); err != nil && ctx.Err() == nil && !f.failed {
			f.failed = true
			f.log.Warn("The node could not read changes of other nodes from the ledger. The node goes on with its last data and tries again.", "error", err)
		} else if err == nil {
			f.failed = false
		}
	}
}

// look reads all data that has changed. A failed read does not stop the others.
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

// isOther tells whether the ledger may be another one than at the last look, such as a restored copy. Then every number
// may stand for other data, and all of it must be read again.
func (f *follower) isOther() bool {
	if f.incarnation == nil {
		return false
	}
	now := f.incarnation()
	other := now != f.known
	f.known = now
	return other
}

// within calls ask with the time limit of one question.
func within(ctx context.Context, ask func(context.Context) error) error {
	ctx, done := context.WithTimeout(ctx, followTimeout)
	defer done()
	return ask(ctx)
}

// openSilences reads the silences, and follows their changes.
func (a *App) openSilences(ctx context.Context) error {
	return a.follow.add(ctx, "silences", a.readSilences)
}

// readSilences reads the ledger's silences and puts them in force on this node.
func (a *App) readSilences(ctx context.Context) error {
	err := a.silences.Refresh(func() ([]silence.Silence, error) { return a.ledger.Silences(ctx) })
	if err != nil {
		return fmt.Errorf("read the silences: %w", err)
	}
	return nil
}

// silenced returns the id of the silence that holds back the deliveries of a notice, and how much longer the silence
// lasts on the machine's clock. Of several silences it returns the one with the latest end. The caller asks again when
// this silence has ended. An empty id means that no silence holds back the notice.
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
