package app

import (
	"context"
	"errors"
	"slices"
	"time"

	"tallyman/engine"
	"tallyman/engine/preview"
	"tallyman/engine/rulediff"
	apirules "tallyman/internal/api/rules"
	"tallyman/internal/ledger"
	"tallyman/internal/wire"
	"tallyman/rules"
	"tallyman/rules/catalog"
	"tallyman/rules/problem"
	"tallyman/scanners"
)

// draft tries another text of a rule for the API: it is checked as its file would be, held against what runs, and run from the state of the node's own ledger. It
// takes the place of one preview.
func (a *App) draft(ctx context.Context, q apirules.DraftQuery) (*apirules.Drafted, error) {
	ctx, cancel := context.WithTimeout(ctx, previewTimeout)
	defer cancel()
	running := a.inForce(q.Rule)
	if len(running) == 0 {
		if err := a.engine.Find(q.Rule, nil); err != nil {
			return nil, err
		}
		return nil, &engine.UnknownError{What: "rule", Name: q.Rule} // it was removed meanwhile
	}
	leave, err := a.enterPreview(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	types, err := a.ledger.Types(ctx)
	if err != nil {
		return nil, err
	}
	text := running[0].Rewrite(q.Text)
	rules.Check(text.Set, known(a.cfg, types))
	if len(text.Set.Problems) > 0 {
		return &apirules.Drafted{Problems: placed(text, text.Set.Problems)}, nil
	}
	r, err := oneOf(text.Set.Rules, q.Scope)
	if err != nil {
		return nil, err
	}
	due, err := preview.ParseAt(q.At, r.Schedule.Timezone, a.opts.Clock.Now())
	if err != nil {
		return nil, &apirules.AtError{Err: err}
	}
	t := &tried{app: a, rule: r, types: types, due: due, limit: q.Limit, running: slices.DeleteFunc(running, func(old *rules.Rule) bool { return old.Scope != r.Scope })}
	return t.run(ctx, text)
}

// inForce are the scopes of a rule that the node runs.
func (a *App) inForce(id string) []*rules.Rule {
	_, list, _ := a.book.get()
	return slices.DeleteFunc(slices.Clone(list), func(r *rules.Rule) bool { return r.ID != id })
}

// oneOf is the rule in the scope, which may be nil where there is one.
func oneOf(list []*rules.Rule, scope *string) (*rules.Rule, error) {
	if scope == nil {
		if len(list) == 1 {
			return list[0], nil
		}
		return nil, engine.ErrManyScopes
	}
	for _, r := range list {
		if r.Scope == *scope {
			return r, nil
		}
	}
	return nil, &engine.UnknownError{What: "scope", Name: *scope}
}

// placed are the problems with the places that they have in the text.
func placed(text *rules.Rewritten, problems problem.List) []wire.FileProblem {
	list := slices.Clone(problems)
	for i := range list {
		list[i] = text.Place(list[i])
	}
	return forms(list)
}

// tried is a draft whose text is sound.
type tried struct {
	app     *App
	rule    *rules.Rule
	running []*rules.Rule // of that scope: one, or none where the draft has a new one
	types   catalog.Catalog
	due     time.Time
	limit   int
}

// run holds the draft against its source, and tries it where it would run.
func (t *tried) run(ctx context.Context, text *rules.Rewritten) (*apirules.Drafted, error) {
	d := &apirules.Drafted{Scope: t.rule.Scope}
	if err := t.differ(ctx, d, rulediff.Input{}); err != nil {
		return nil, err
	}
	leave, err := t.rooms(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	check := &sourceCheck{name: t.rule.Source, types: t.types, checks: []*ruleCheck{{rule: t.rule}}}
	check.each(ctx, t.app.sources[t.rule.Source], 1)
	if d.Problems = placed(text, check.problems); len(d.Problems) > 0 {
		return d, nil
	}
	p, err := t.app.previewOf(ctx, t.rule, t.types, t.due, t.limit)
	if err != nil {
		return nil, err
	}
	d.Preview = p
	return d, t.effect(ctx, d)
}

// rooms takes the place of a run on the source, and on that of the running version where it is another.
func (t *tried) rooms(ctx context.Context) (leave func(), err error) {
	leave = func() {}
	names := []string{t.rule.Source}
	for _, r := range t.running {
		names = append(names, r.Source)
	}
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		release, err := t.app.engine.Room(ctx, name)
		if err != nil {
			leave()
			return nil, err
		}
		before := leave
		leave = func() { release(); before() }
	}
	return leave, nil
}

// differ compares the draft with what runs; with snapshots both are run.
func (t *tried) differ(ctx context.Context, d *apirules.Drafted, in rulediff.Input) error {
	in.Old, in.New, in.Due, in.Limit = t.running, []*rules.Rule{t.rule}, t.due, t.limit
	diff, err := rulediff.Run(ctx, in)
	if err != nil {
		return err
	}
	for i := range diff.Rules {
		if r := &diff.Rules[i]; in.Snapshot == nil {
			d.Changes, d.Warnings = r.Changes, r.Warns
		} else {
			d.Effect = r
		}
	}
	return nil
}

// effect runs both versions over one snapshot, where the sources have them and something differs.
func (t *tried) effect(ctx context.Context, d *apirules.Drafted) (err error) {
	switch {
	case len(t.running) == 0:
		d.Notes = append(d.Notes, "the scope is new: there is nothing to compare with")
		return nil
	case len(d.Changes) == 0:
		return nil
	}
	open := &nodeSnapshots{app: t.app, open: map[string]*snapshot{}}
	defer func() { err = errors.Join(err, open.close()) }()
	for _, r := range append(slices.Clone(t.running), t.rule) {
		if _, ok := t.app.sources[r.Source].Source.(scanners.Sessions); !ok {
			d.Notes = append(d.Notes, "the source "+r.Source+" has no snapshot that both versions could be run over")
			return nil
		}
	}
	return t.differ(ctx, d, rulediff.Input{Types: t.types, Ledger: t.app.ledger, Snapshot: open.of})
}

// nodeSnapshots are snapshots of the node's own sources.
type nodeSnapshots struct {
	app  *App
	open map[string]*snapshot
}

func (s *nodeSnapshots) of(ctx context.Context, name string) (scanners.Source, error) {
	if open := s.open[name]; open != nil {
		return open, nil
	}
	source := s.app.sources[name].Source
	sessions, ok := source.(scanners.Sessions)
	if !ok {
		return nil, wrongUse("source %s has no snapshot", name)
	}
	session, err := sessions.Session(ctx, nil)
	if err != nil {
		return nil, err
	}
	s.open[name] = &snapshot{source: source, session: session}
	return s.open[name], nil
}

func (s *nodeSnapshots) close() error {
	var errs []error
	for _, open := range s.open {
		errs = append(errs, open.session.Close())
	}
	return errors.Join(errs...)
}

// previewOf tries a rule from the state of the node's own ledger.
func (a *App) previewOf(ctx context.Context, r *rules.Rule, types catalog.Catalog, due time.Time, limit int) (*preview.Report, error) {
	p, err := preview.Run(ctx, preview.Request{
		Rule: r, Source: a.sources[r.Source].Source, Name: r.Source, Types: types, Sinks: sinkTypes(a.cfg), Ledger: a.ledger,
		Subscriptions: func(ctx context.Context, typ string) ([]ledger.Subscription, error) {
			return a.ledger.Subscriptions(ctx, ledger.SubscriptionFilter{Type: typ})
		},
		Silencer: &a.silences, Due: due, Limit: limit,
	})
	if err != nil {
		return nil, errors.Join(err, context.Cause(ctx))
	}
	return p.Report, nil
}
