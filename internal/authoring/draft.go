package authoring

import (
	"context"
	"errors"
	"slices"
	"time"

	"tallyman/engine"
	"tallyman/engine/trial/preview"
	"tallyman/engine/trial/rulediff"
	"tallyman/rules"
	"tallyman/rules/catalog"
	"tallyman/rules/problem"
	"tallyman/scanners"
)

// DraftRequest is another text of a rule, and how to try it.
type DraftRequest struct {
	Text  string
	Check bool // Check only the text. No source is asked, and the draft does not count as a preview.
	File  bool // Return the rule's file as well.
	PreviewRequest
}

// DraftResult is the result of trying another text of a rule.
type DraftResult struct {
	Scope    string
	Problems problem.List // With places in the text and an empty file, or with places in the file.
	Changes  []rulediff.Change
	Warnings []string
	Lints    problem.List    // Warnings about a sound draft. Their places are as in Problems.
	Preview  *preview.Report // nil where the draft would not run.
	Effect   *rulediff.Rule  // nil where the versions were not run.
	Notes    []string
	File     *DraftFile // nil where the request does not ask for it.
}

// DraftFile is a rule's file as it was loaded, and the file with the draft in the place of the rule.
type DraftFile struct{ Name, Before, After string }

// Draft tries another text of a rule, for the API. It checks the text as a part of the rule's file, compares it with
// the running version, and runs it from the state in the node's own ledger. The draft counts as one preview.
func (n *Node) Draft(ctx context.Context, q DraftRequest) (*DraftResult, error) {
	ctx, cancel := context.WithTimeout(ctx, previewTimeout)
	defer cancel()
	running := n.inForce(q.Rule)
	if len(running) == 0 {
		if err := n.Engine.Find(q.Rule, nil); err != nil {
			return nil, err
		}
		return nil, &engine.UnknownError{What: "rule", Name: q.Rule} // the rule was removed meanwhile
	}
	types, err := n.Ledger.Types(ctx)
	if err != nil {
		return nil, err
	}
	text := running[0].Rewrite(q.Text)
	rules.Check(text.Set, Known(n.Config, types))
	d := &DraftResult{Problems: placed(text, text.Set.Problems)}
	if !q.Check && len(d.Problems) == 0 {
		if d, err = n.tryDraft(ctx, q, text, running, types); err != nil {
			return nil, err
		}
	}
	if q.File {
		d.File = &DraftFile{Name: running[0].File}
		d.File.Before, d.File.After = text.Texts()
	}
	return d, nil
}

// tryDraft runs a sound text on its source.
func (n *Node) tryDraft(ctx context.Context, q DraftRequest, text *rules.RewrittenRule, running []*rules.Rule, types catalog.Catalog) (*DraftResult, error) {
	leave, err := n.enterPreview(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	scopes, problems, err := n.expandDraft(ctx, text.Set.Rules, running)
	if err != nil || len(problems) > 0 {
		return &DraftResult{Problems: placed(text, problems)}, err
	}
	r, err := oneOf(scopes, q.Scope)
	if err != nil {
		return nil, err
	}
	if r.Placeholder != "" {
		return nil, &engine.UnverifiedError{Err: errors.New(r.Placeholder.WhyNot())}
	}
	due, err := preview.ParseAt(q.At, r.Schedule.Timezone, n.Engine.Now())
	if err != nil {
		return nil, &AtError{Err: err}
	}
	t := &draftRun{node: n, rule: r, types: types, due: due, limit: q.Limit, running: slices.DeleteFunc(running, func(old *rules.Rule) bool { return old.Scope != r.Scope })}
	return t.run(ctx, text)
}

// inForce returns the scopes of a rule that the node runs.
func (n *Node) inForce(id string) []*rules.Rule {
	return slices.DeleteFunc(slices.Clone(n.InForce()), func(r *rules.Rule) bool { return r.ID != id })
}

// oneOf returns the rule in the scope. scope may be nil where the rule has only one scope.
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

// placed returns the problems with their places in the text of the draft.
func placed(text *rules.RewrittenRule, problems problem.List) problem.List {
	list := slices.Clone(problems)
	for i := range list {
		list[i] = text.Place(list[i])
	}
	return list
}

// draftRun is the trial of a draft whose text is sound.
type draftRun struct {
	node    *Node
	rule    *rules.Rule
	running []*rules.Rule // The running version in the scope. Empty where the draft has a new scope.
	types   catalog.Catalog
	due     time.Time
	limit   int
}

// run checks the draft on its source. Where the draft would run, it tries it.
func (t *draftRun) run(ctx context.Context, text *rules.RewrittenRule) (*DraftResult, error) {
	d := &DraftResult{Scope: t.rule.Scope}
	if err := t.differ(ctx, d, rulediff.Input{}); err != nil {
		return nil, err
	}
	leave, err := t.rooms(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	check := &sourceCheck{name: t.rule.Source, types: t.types, checks: []*ruleCheck{{rule: t.rule}}}
	check.each(ctx, t.node.Sources[t.rule.Source], 1)
	if d.Problems = placed(text, check.problems); len(d.Problems) > 0 {
		return d, nil
	}
	p, err := t.node.previewOf(ctx, t.rule, t.types, t.due, t.limit)
	if err != nil {
		return nil, err
	}
	d.Preview = p
	found := lint(check.checks[0])
	if p.Start.From == preview.FromNew {
		found = append(found, rules.LintFirstRun(t.rule, p.Counts.Notices)...)
	}
	d.Lints = placed(text, rules.Tidy(found))
	return d, t.effect(ctx, d)
}

// rooms waits for room for one run on the source. Where the running version has another source, it waits for room there
// as well. All drafts ask in the same order, so that two of them cannot wait for each other.
func (t *draftRun) rooms(ctx context.Context) (leave func(), err error) {
	leave = func() {}
	names := []string{t.rule.Source}
	for _, r := range t.running {
		names = append(names, r.Source)
	}
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		release, err := t.node.Engine.Room(ctx, name)
		if err != nil {
			leave()
			return nil, err
		}
		before := leave
		leave = func() { release(); before() }
	}
	return leave, nil
}

// differ compares the draft with the running version. Where in has snapshots, it runs both versions.
func (t *draftRun) differ(ctx context.Context, d *DraftResult, in rulediff.Input) error {
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

// effect runs both versions over one snapshot, where their sources have snapshots and the versions differ.
func (t *draftRun) effect(ctx context.Context, d *DraftResult) (err error) {
	switch {
	case len(t.running) == 0:
		d.Notes = append(d.Notes, "the scope is new: there is nothing to compare with")
		return nil
	case len(d.Changes) == 0:
		return nil
	}
	open := &nodeSnapshots{node: t.node, open: map[string]*snapshot{}}
	defer func() { err = errors.Join(err, open.close()) }()
	for _, r := range append(slices.Clone(t.running), t.rule) {
		if _, ok := t.node.Sources[r.Source].(scanners.Sessions); !ok {
			d.Notes = append(d.Notes, "the source "+r.Source+" has no snapshots, so the two versions cannot run over the same data")
			return nil
		}
	}
	return t.differ(ctx, d, rulediff.Input{Types: t.types, Ledger: t.node.Ledger, Snapshot: open.of})
}

// nodeSnapshots are snapshots of the node's own sources.
type nodeSnapshots struct {
	node *Node
	open map[string]*snapshot
}

func (s *nodeSnapshots) of(ctx context.Context, name string) (scanners.Source, error) {
	if open := s.open[name]; open != nil {
		return open, nil
	}
	source := s.node.Sources[name]
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
