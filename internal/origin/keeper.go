package origin

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"tallyman/internal/ledger"
	"tallyman/rules/probe"
	"tallyman/rules/row"
	"tallyman/scanners"
)

// Ledger is what a keeper needs of it.
type Ledger interface {
	ledger.OriginKeeper
	ledger.TypeReader
}

// Options are what a keeper is made of. All are needed.
type Options struct {
	Ledger Ledger
	Source scanners.Source
	Name   string // of the source, which is the origin of the subscriptions
	SQL    string
	Every  time.Duration // between two questions of the cluster
	Within time.Duration // for a question: another node asks no sooner, even where every is shorter
	Author ledger.Author // of the changes
	Logger *slog.Logger
}

// Keeper keeps the subscriptions of one origin.
type Keeper struct {
	o    Options
	stmt *probe.Statement
}

const (
	mostRows = 50_000
	// triesInEvery is how often a node tries to claim the next question while one is due: nodes do not begin together.
	triesInEvery  = 4
	ledgerTimeout = 30 * time.Second // for what the ledger is told of an answer
)

// New makes a keeper. The error is of SQL that no source may run.
func New(o Options) (*Keeper, error) {
	stmt, err := Parse(o.SQL)
	if err != nil {
		return nil, err
	}
	return &Keeper{o: o, stmt: stmt}, nil
}

// Parse reads the query, which is a SELECT without parameters.
func Parse(sql string) (*probe.Statement, error) {
	stmt, faults := probe.Parse(sql)
	var errs []error
	for _, f := range faults {
		errs = append(errs, fmt.Errorf("%s: %s", f.Code, f.Message))
	}
	if len(faults) == 0 && len(stmt.Params) > 0 {
		errs = append(errs, fmt.Errorf("the query has the parameter :%s; it takes none", stmt.Params[0]))
	}
	return stmt, errors.Join(errs...)
}

// Run looks until the context ends.
func (k *Keeper) Run(ctx context.Context) {
	tick := time.NewTicker(k.o.Every / triesInEvery)
	defer tick.Stop()
	for {
		if err := k.look(ctx); err != nil && ctx.Err() == nil {
			k.o.Logger.Warn("The subscriptions of the source are not kept: the ledger does not answer. The node tries again.", "source", k.o.Name, "error", err)
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
	token, claimed, err := k.o.Ledger.ClaimOrigin(ctx, k.o.Name, k.o.Every, k.o.Within)
	if err != nil || !claimed {
		return err
	}
	subs, failed := k.ask(ctx)
	if ctx.Err() != nil {
		return ctx.Err() // the node stops: the source has said nothing
	}
	ctx, cancel := context.WithTimeout(ctx, ledgerTimeout)
	defer cancel()
	if failed == nil {
		failed, err = k.take(ctx, token, subs)
	}
	if failed != nil {
		k.o.Logger.Warn("The subscriptions stay as they are: the source has given no list that can be taken.", "source", k.o.Name, "error", failed)
		err = k.o.Ledger.FailOrigin(ctx, k.o.Name, token, failed.Error())
	}
	if errors.Is(err, ledger.ErrFenced) {
		return nil // another node has asked since
	}
	return err
}

// take has the ledger take the list. What is wrong with the list is no error of the ledger.
func (k *Keeper) take(ctx context.Context, token int64, subs []ledger.Subscription) (failed, err error) {
	change, err := k.o.Ledger.TakeSubscriptions(ctx, k.o.Author, k.o.Name, token, subs)
	switch {
	case errors.Is(err, ledger.ErrNotFound), errors.Is(err, ledger.ErrInvalid): // a type was removed meanwhile
		return err, nil
	case err != nil:
		return nil, err
	case change.Waits:
		k.o.Logger.Warn("The list of the source would remove more than half of its subscriptions. It waits until an operator confirms it.", "source", k.o.Name,
			"confirm", "tallyman subscriptions confirm "+k.o.Name)
	case len(change.Added)+len(change.Removed) > 0:
		k.o.Logger.Info("The subscriptions of the source have changed.", "source", k.o.Name, "added", len(change.Added), "removed", len(change.Removed))
	}
	return nil, nil
}

// ask is list, which ends before another node may ask.
func (k *Keeper) ask(ctx context.Context) ([]ledger.Subscription, error) {
	ctx, cancel := context.WithTimeout(ctx, k.o.Within)
	defer cancel()
	return k.list(ctx)
}

// list asks the source.
func (k *Keeper) list(ctx context.Context) ([]ledger.Subscription, error) {
	types, err := k.o.Ledger.Types(ctx)
	if err != nil {
		return nil, fmt.Errorf("read the types: %w", err)
	}
	p, err := k.o.Source.Prepare(ctx, k.stmt)
	if err != nil {
		return nil, err
	}
	read, err := newReader(p.Columns(), types)
	if err != nil {
		return nil, err
	}
	result, err := p.Scan(ctx, scanners.Request{MaxRows: mostRows}, func(r *row.Row) error { read.row(r); return nil })
	switch {
	case err != nil:
		return nil, err
	case result.More:
		return nil, fmt.Errorf("the query returns more than %d rows", mostRows)
	}
	return read.subs, read.fault()
}
