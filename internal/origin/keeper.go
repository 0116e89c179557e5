package origin

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"tallyman/internal/ledger"
	"tallyman/rules"
	"tallyman/rules/probe"
	"tallyman/rules/row"
	"tallyman/scanners"
)

// Options are what a keeper is made of. All are needed.
type Options struct {
	Ledger   ledger.OriginKeeper
	Source   scanners.Source
	Kind     Kind // what the rows are
	Question Question
	Within   time.Duration // for an answer: another node asks no sooner, even where every is shorter
	Logger   *slog.Logger
}

// Question is what a source is asked, and how often.
type Question struct {
	Statement *probe.Statement
	Hash      string        // stands for the query: one that differs from the last one is asked at once
	Every     time.Duration // between two questions of the cluster
}

// Kind is what a query lists: subscriptions, or the scopes of a rule.
type Kind interface {
	Origin() ledger.OriginKey
	// Begin is called with the columns of an answer. The error is of columns that do not do.
	Begin(ctx context.Context, columns []row.Column) (List, error)
	// Most is how many rows an answer has at most.
	Most() int
}

// List takes in one answer.
type List interface {
	Row(r *row.Row)
	// Fault says which rows are wrong; then none of the list is taken.
	Fault() error
	// Take has the ledger take the list. The errors are the ledger's.
	Take(ctx context.Context, token int64) (Taken, error)
}

// Taken is what became of a list.
type Taken struct {
	Waits                   bool   // for an operator
	Confirm                 string // the command with which they confirm it
	Added, Changed, Removed int
}

// Keeper keeps what one query lists.
type Keeper struct {
	o    Options
	anew bool // the keeper has asked nothing yet
	log  *slog.Logger
}

const (
	// triesInEvery is how often a node tries to claim the next question while one is due: nodes do not begin together.
	triesInEvery  = 4
	ledgerTimeout = 30 * time.Second // for what the ledger is told of an answer
)

// New makes a keeper.
func New(o Options) *Keeper {
	key := o.Kind.Origin()
	return &Keeper{o: o, anew: true, log: o.Logger.With("list", string(key.Kind), "name", key.Name)}
}

// Parse reads a query for a list, which is a SELECT without parameters.
func Parse(sql string) (*probe.Statement, error) {
	query := rules.ScopeQuery{SQL: sql}
	stmt, faults := query.Statement()
	var errs []error
	for _, f := range faults {
		errs = append(errs, fmt.Errorf("%s: %s", f.Code, f.Message))
	}
	return stmt, errors.Join(errs...)
}

// Run looks until the context ends.
func (k *Keeper) Run(ctx context.Context) {
	tick := time.NewTicker(k.o.Question.Every / triesInEvery)
	defer tick.Stop()
	for {
		if err := k.look(ctx); err != nil && ctx.Err() == nil {
			k.log.Warn("The list of the source is not kept: the ledger does not answer. The node tries again.", "error", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// look asks the source, where this node is to do it. The error is the ledger's; the ledger keeps that of the source.
func (k *Keeper) look(ctx context.Context) error {
	key := k.o.Kind.Origin()
	token, claimed, err := k.o.Ledger.ClaimOrigin(ctx, ledger.OriginClaim{
		OriginKey: key, Question: k.o.Question.Hash, Anew: k.anew, Every: k.o.Question.Every, Within: k.o.Within,
	})
	if err != nil || !claimed {
		return err
	}
	k.anew = false
	list, failed := k.ask(ctx)
	if ctx.Err() != nil {
		return ctx.Err() // the node stops: the source has said nothing
	}
	ctx, cancel := context.WithTimeout(ctx, ledgerTimeout)
	defer cancel()
	if failed == nil {
		failed, err = k.take(ctx, token, list)
	}
	if failed != nil {
		k.log.Warn("The last list stays: the source has given none that can be taken.", "error", failed)
		err = k.o.Ledger.FailOrigin(ctx, key, token, failed.Error())
	}
	if errors.Is(err, ledger.ErrFenced) {
		return nil // another node has asked since
	}
	return err
}

// take has the ledger take the list. What is wrong with the list is no error of the ledger.
func (k *Keeper) take(ctx context.Context, token int64, list List) (failed, err error) {
	taken, err := list.Take(ctx, token)
	switch {
	case errors.Is(err, ledger.ErrNotFound), errors.Is(err, ledger.ErrInvalid): // a type was removed meanwhile
		return err, nil
	case err != nil:
		return nil, err
	case taken.Waits:
		k.log.Warn("The list of the source is empty, or would remove more than half of what it has listed. It waits until an operator confirms it.", "confirm", taken.Confirm)
	case taken.Added+taken.Changed+taken.Removed > 0:
		k.log.Info("The list of the source has changed.", "added", taken.Added, "changed", taken.Changed, "removed", taken.Removed)
	}
	return nil, nil
}

// ask asks the source, before another node may ask.
func (k *Keeper) ask(ctx context.Context) (List, error) {
	ctx, cancel := context.WithTimeout(ctx, k.o.Within)
	defer cancel()
	return Ask(ctx, k.o.Source, k.o.Question.Statement, k.o.Kind)
}

// Ask asks a source for a list. The error is of the source, or says what is wrong with the answer.
func Ask(ctx context.Context, source scanners.Source, stmt *probe.Statement, kind Kind) (List, error) {
	p, err := source.Prepare(ctx, stmt)
	if err != nil {
		return nil, err
	}
	list, err := kind.Begin(ctx, p.Columns())
	if err != nil {
		return nil, err
	}
	result, err := p.Scan(ctx, scanners.Request{MaxRows: kind.Most()}, func(r *row.Row) error { list.Row(r); return nil })
	switch {
	case err != nil:
		return nil, err
	case result.More:
		return nil, fmt.Errorf("%s: the query returns more than %d rows", codeTooLong, kind.Most())
	}
	return list, list.Fault()
}

// codeTooLong is the code of a list that is too long.
const codeTooLong = "list_too_long"
