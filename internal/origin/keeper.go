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

// Options are the settings of a Keeper. All are needed.
type Options struct {
	Ledger   ledger.OriginKeeper
	Source   scanners.Source
	Kind     Kind // What the rows are.
	Question Question
	Within   time.Duration // Time for an answer. Another node asks only after this time, even where Question.Every is shorter.
	Logger   *slog.Logger
}

// Question is a query and its interval.
type Question struct {
	Statement *probe.Statement
	Hash      string        // Hash of the query. A query with a new hash is asked at once.
	Every     time.Duration // Time between two questions in the cluster.
}

// Kind is what a query lists: subscriptions, or the scopes of a rule.
type Kind interface {
	Origin() ledger.OriginKey
	// Begin starts a list with the columns of an answer. It returns an error where the columns are not the expected
	// ones.
	Begin(ctx context.Context, columns []row.Column) (List, error)
	// Most is the maximum number of rows of an answer.
	Most() int
}

// List collects the rows of one answer.
type List interface {
	Row(r *row.Row)
	// Fault names the invalid rows. With a fault the ledger gets nothing of the list.
	Fault() error
	// Take writes the list to the ledger. token is the token of the claim. Errors are the ledger's.
	Take(ctx context.Context, token int64) (Taken, error)
}

// Taken is the result of writing a list to the ledger.
type Taken struct {
	Waits                   bool   // The list waits for an operator.
	Confirm                 string // The command by which an operator confirms the list.
	Added, Changed, Removed int
}

// Keeper keeps the list of one query.
type Keeper struct {
	o    Options
	anew bool // The keeper has not asked yet.
	log  *slog.Logger
}

const (
	// triesInEvery is how often a node tries to claim the question in each interval. So the question is late by at most
	// a quarter of the interval.
	triesInEvery  = 4
	ledgerTimeout = 30 * time.Second // Time to write an answer to the ledger.
)

// New makes a keeper.
func New(o Options) *Keeper {
	key := o.Kind.Origin()
	return &Keeper{o: o, anew: true, log: o.Logger.With("list", string(key.Kind), "name", key.Name)}
}

// Parse parses the query of a list. The query must be a SELECT without parameters.
func Parse(sql string) (*probe.Statement, error) {
	query := rules.ScopeQuery{SQL: sql}
	stmt, faults := query.Statement()
	var errs []error
	for _, f := range faults {
		errs = append(errs, fmt.Errorf("%s: %s", f.Code, f.Message))
	}
	return stmt, errors.Join(errs...)
}

// Run tries to claim and ask the question until the context ends.
func (k *Keeper) Run(ctx context.Context) {
	tick := time.NewTicker(k.o.Question.Every / triesInEvery)
	defer tick.Stop()
	for {
		if err := k.look(ctx); err != nil && ctx.Err() == nil {
			k.log.Warn("List of the source is not updated, because the ledger does not answer. The node tries again.", "error", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// look asks the source if this node gets the claim. The returned error is the ledger's. An error of the source goes
// into the ledger.
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
		return ctx.Err() // The node stops. This says nothing about the source.
	}
	ctx, cancel := context.WithTimeout(ctx, ledgerTimeout)
	defer cancel()
	if failed == nil {
		failed, err = k.take(ctx, token, list)
	}
	if failed != nil {
		k.log.Warn("List of the source could not be read, or is not valid. The last list stays in force.", "error", failed)
		err = k.o.Ledger.FailOrigin(ctx, key, token, failed.Error())
	}
	if errors.Is(err, ledger.ErrFenced) {
		return nil // Another node has asked since then.
	}
	return err
}

// take writes the list to the ledger. failed is a fault of the list, and err an error of the ledger.
func (k *Keeper) take(ctx context.Context, token int64, list List) (failed, err error) {
	taken, err := list.Take(ctx, token)
	switch {
	case errors.Is(err, ledger.ErrNotFound), errors.Is(err, ledger.ErrInvalid): // A type was removed in the meantime.
		return err, nil
	case err != nil:
		return nil, err
	case taken.Waits:
		k.log.Warn("List of the source is empty, or would remove more than half of the last list. The list waits until an operator confirms it.", "confirm", taken.Confirm)
	case taken.Added+taken.Changed+taken.Removed > 0:
		k.log.Info("List of the source has changed.", "added", taken.Added, "changed", taken.Changed, "removed", taken.Removed)
	}
	return nil, nil
}

// ask asks the source. It gives up before another node may ask.
func (k *Keeper) ask(ctx context.Context) (List, error) {
	ctx, cancel := context.WithTimeout(ctx, k.o.Within)
	defer cancel()
	return Ask(ctx, k.o.Source, k.o.Question.Statement, k.o.Kind)
}

// Ask runs the query and returns the list. The error is the source's, or describes a fault of the answer.
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

// codeTooLong is the error code of a list with too many rows.
const codeTooLong = "list_too_long"
