package app

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"tallyman/internal/ledger"
	"tallyman/internal/origin"
	"tallyman/rules"
	"tallyman/rules/problem"
)

// expansion is the rules with the scopes that queries list.
type expansion struct {
	set  *rules.Set    // The files, and the problems of the scopes.
	list []*rules.Rule // One rule for each scope.
}

// expand adds the scopes to rules whose scopes queries list. expand takes the lists from the ledger.
func (b *ruleBook) expand(ctx context.Context, files *rules.Set, written []*rules.Rule) (*expansion, error) {
	if len(queried(written)) == 0 {
		return &expansion{files, written}, nil
	}
	lists, err := b.ledger.ScopeLists(ctx)
	if err != nil {
		return nil, fmt.Errorf("read the scopes of rules: %w", err)
	}
	list, problems := rules.Expand(written, lists)
	set := *files
	set.Problems = rules.Tidy(append(append(problem.List{}, files.Problems...), problems...))
	return &expansion{&set, list}, nil
}

// queried returns the rules whose scopes a query lists.
func queried(list []*rules.Rule) (found []*rules.Rule) {
	for _, r := range list {
		if r.Scopes != nil {
			found = append(found, r)
		}
	}
	return found
}

// listsChanged makes followLists read the lists of scopes again.
func (b *ruleBook) listsChanged(context.Context) error {
	signal(b.lists)
	return nil
}

// followLists puts the lists of scopes in force whenever one has changed, until the context ends.
func (b *ruleBook) followLists(ctx context.Context) {
	var again <-chan time.Time
	for {
		select {
		case <-ctx.Done():
			return
		case <-b.lists:
		case <-again:
		}
		again = nil
		err := b.relist(ctx)
		if err != nil {
			err = fmt.Errorf("the scopes that queries list are not in force; the node tries again in %s: %w", takeAgain, err)
			again = time.After(takeAgain)
		}
		b.mu.Lock()
		b.left = err
		b.mu.Unlock()
		if err != nil && ctx.Err() == nil {
			b.log.Error("Lists of scopes were not put in force. Rules run in their earlier scopes.", "error", err)
		}
	}
}

// relist puts the rules in force in the scopes that the ledger has now. relist does not read the files. relist makes no
// record of its own, because the ledger has a record of each list.
func (b *ruleBook) relist(ctx context.Context) error {
	b.reloading.Lock()
	defer b.reloading.Unlock()
	ctx, done := context.WithTimeout(ctx, reloadTimeout)
	defer done()
	b.mu.Lock()
	files, kept, stale, seen, again := b.files, b.kept, b.stale, b.seen, b.again
	b.mu.Unlock()
	in, err := b.expand(ctx, files, kept)
	if err != nil {
		return err
	}
	last, before, _ := b.get()
	if err := b.engine.Replace(in.list, in.set.Complete()); err != nil {
		return err
	}
	b.put(files, kept, in, stale, seen)
	b.readAgain(again)
	b.tellProblems(in.set, last)
	r := compare(before, in.list)
	b.log.Info("The rules run in the scopes that queries list.", "rules", r.Rules, "added", r.Added, "changed", r.Changed, "removed", r.Removed, "version", b.engine.Version())
	return nil
}

// keepScopes runs a keeper for each rule in force whose scopes come from a query, until the context ends.
func (a *App) keepScopes(ctx context.Context) {
	// Keyed by id and checksum, which changes with the query and its parameters.
	running := map[string]context.CancelFunc{}
	var keepers sync.WaitGroup
	defer keepers.Wait()
	for {
		wanted := map[string]*rules.Rule{}
		for _, r := range queried(a.book.written()) {
			wanted[r.ID+" "+r.Checksum] = r
		}
		for key, end := range running {
			if wanted[key] == nil {
				end()
				delete(running, key)
			}
		}
		for key, r := range wanted {
			if running[key] == nil {
				keeper := a.scopeKeeper(r)
				var own context.Context
				own, running[key] = context.WithCancel(ctx)
				keepers.Go(func() { keeper.Run(own) })
			}
		}
		select {
		case <-ctx.Done():
			for _, end := range running {
				end()
			}
			return
		case <-a.book.queries:
		}
	}
}

func (a *App) scopeKeeper(r *rules.Rule) *origin.Keeper {
	stmt, _ := r.Scopes.Statement() // No error: the rule was loaded.
	return origin.New(origin.Options{
		Ledger: a.ledger, Source: a.sources[r.Scopes.Source],
		Kind:     &origin.Scopes{Ledger: a.ledger, Rule: r, Author: nodeAuthor(a.opts.Node, ledger.ViaSource)},
		Question: origin.Question{Statement: stmt, Hash: r.Question(), Every: r.Scopes.Every},
		Within:   a.answerWithin(r.Scopes.Source), Logger: a.log,
	})
}

// query returns the query that lists the scopes of a rule in force. Nil means there is no such query.
func (b *ruleBook) query(rule string) *rules.ScopeQuery {
	for _, r := range b.written() {
		if r.ID == rule && r.Scopes != nil {
			return r.Scopes
		}
	}
	return nil
}

// scopeDesk is the API's view of the scopes that queries list.
type scopeDesk struct {
	ledger.ScopeKeeper
	book *ruleBook
}

// Origins implements rulebook.Scopes.
func (d scopeDesk) Origins(ctx context.Context) ([]ledger.ScopeOrigin, error) {
	origins, err := d.ScopeOrigins(ctx)
	if err != nil {
		return nil, err
	}
	for _, r := range queried(d.book.written()) {
		if !slices.ContainsFunc(origins, func(o ledger.ScopeOrigin) bool { return o.Name == r.ID }) {
			origins = append(origins, ledger.ScopeOrigin{OriginState: ledger.OriginState{Name: r.ID}})
		}
	}
	slices.SortFunc(origins, func(a, b ledger.ScopeOrigin) int { return strings.Compare(a.Name, b.Name) })
	return origins, nil
}

// Source implements rulebook.Scopes.
func (d scopeDesk) Source(rule string) string {
	if q := d.book.query(rule); q != nil {
		return q.Source
	}
	return ""
}

// signal sends to the channel, or does nothing where the channel already holds a signal.
func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
