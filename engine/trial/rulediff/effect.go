package rulediff

import (
	"context"
	"errors"
	"maps"
	"slices"

	"tallyman/engine/trial"
	"tallyman/internal/finding"
	"tallyman/internal/ledger"
	"tallyman/internal/notice"
	"tallyman/rules"
	"tallyman/rules/problem"
	"tallyman/scanners"
)

// sideResult is the state of one version of a rule after its run.
type sideResult struct {
	findings map[string]finding.State // Keyed by key.
	notified map[string]bool          // The keys of the findings that got a notice in this run.
	events   map[string]string        // Mode event: the key of each notice, keyed by the notice's id.
}

// run runs both versions and adds the results to the rule.
func (in *Input) run(ctx context.Context, p pair, r *Rule) error {
	start, from, err := in.start(ctx, p, r)
	if err != nil {
		return err
	}
	r.From = from
	a, err := in.side(ctx, p.old, start, &r.Old, nil)
	if err != nil {
		return err
	}
	b, err := in.side(ctx, p.new, start, &r.New, &r.Faults)
	if err != nil {
		return err
	}
	for _, rule := range []*rules.Rule{p.old, p.new} {
		if rule != nil && rule.Enabled && !slices.Contains(r.Sources, rule.Source) {
			r.Sources = append(r.Sources, rule.Source)
		}
	}
	if a != nil && b != nil {
		r.Effect = effect(byKey(start.Findings), a, b, in.Limit)
	}
	return nil
}

// start returns the state that both runs begin with, and where it comes from.
func (in *Input) start(ctx context.Context, p pair, r *Rule) (trial.Start, string, error) {
	if in.Ledger != nil {
		start, known, err := trial.From(ctx, in.Ledger, r.ID, r.Scope)
		if err != nil || known {
			return start, FromLedger, err
		}
	}
	if p.old == nil || !p.old.Enabled || p.old.Mode == rules.ModeEvent {
		return trial.Start{}, FromNone, nil
	}
	old := *p.old
	old.For = 0 // The findings count as old enough to have fired.
	t, run, err := in.trial(ctx, &old, trial.Start{})
	if refused(err) || err == nil && run.Run.Outcome == ledger.OutcomeFailed {
		return trial.Start{}, FromNone, nil // The run of the old version will say why.
	}
	if err != nil {
		return trial.Start{}, "", err
	}
	start := trial.Start{Findings: t.Findings(), Notices: map[string]*notice.Notice{}}
	start.State.Scope, start.State.Registered = run.Commits[len(run.Commits)-1].Scope, in.Due
	for _, f := range start.Findings {
		if n := t.Notice(f.NoticeID); n != nil {
			start.Notices[n.ID] = n
		}
	}
	return start, FromOld, nil
}

// side runs one version. A missing rule has no findings; a disabled rule keeps its findings. The result is nil where
// the version could not be run; then *side says why.
func (in *Input) side(ctx context.Context, r *rules.Rule, start trial.Start, side **Side, faults *problem.List) (*sideResult, error) {
	out := &sideResult{findings: byKey(start.Findings), notified: map[string]bool{}, events: map[string]string{}}
	if r == nil {
		out.findings = nil
		return out, nil
	}
	if !r.Enabled {
		return out, nil
	}
	t, run, err := in.trial(ctx, r, start)
	if refused(err) {
		*side = &Side{Outcome: string(ledger.OutcomeFailed), Error: "it would not run: " + err.Error()}
		var list problem.List
		if errors.As(err, &list) && faults != nil {
			*faults, (*side).Error = list, "it would not run"
		}
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	*side = &Side{
		Outcome: string(run.Run.Outcome), Error: run.Run.Error, Rows: run.Run.Rows,
		Matched: run.Run.Matched, Errored: run.Run.Errored, Notices: run.Run.Notices,
	}
	if run.Run.Outcome == ledger.OutcomeFailed {
		return nil, nil
	}
	// A digest does not say which events it has, so run without a limit.
	if r.Mode == rules.ModeEvent && r.Limit.Notices > 0 {
		each := *r
		each.Limit.Notices = 0
		if t, run, err = in.trial(ctx, &each, start); err != nil {
			return nil, err
		}
	}
	for _, c := range run.Commits {
		for _, n := range c.Notices {
			if n.Notice.Status == notice.Event {
				out.events[n.Notice.ID] = n.Notice.Key
			}
		}
	}
	before := out.findings
	out.findings = byKey(t.Findings())
	// A finding that a digest reminds of keeps its notice, so Ordinal is compared as well.
	for key, f := range out.findings {
		out.notified[key] = f.Phase == finding.Firing && (f.Ordinal != before[key].Ordinal || f.NoticeID != before[key].NoticeID)
	}
	return out, nil
}

// refused tells whether the error comes from the rule, and not from a source or ledger that is out of reach.
func refused(err error) bool {
	var list problem.List
	var scan *scanners.Error
	return errors.As(err, &list) || errors.As(err, &scan) && !scan.Transient
}

// trial runs a rule once.
func (in *Input) trial(ctx context.Context, r *rules.Rule, start trial.Start) (*trial.Trial, *trial.Run, error) {
	source, err := in.Snapshot(ctx, r.Source)
	if err != nil {
		return nil, nil, err
	}
	t, err := trial.New(r, source, in.Types, start)
	if err != nil {
		return nil, nil, err
	}
	if err := t.Verify(ctx); err != nil {
		return nil, nil, err
	}
	run, err := t.Run(ctx, in.Due)
	return t, run, err
}

// effect compares the findings after both runs.
func effect(before map[string]finding.State, a, b *sideResult, limit int) *Effect {
	e := newEffect()
	for _, key := range union(a.findings, b.findings) {
		old, was := a.findings[key]
		now, is := b.findings[key]
		firing := is && now.Phase == finding.Firing && now.AbsentSince.IsZero()
		fired := was && old.Phase == finding.Firing && old.AbsentSince.IsZero()
		told := before[key].Phase == finding.Firing
		switch {
		case firing && told && !fired:
			e.Keep.add(key, limit)
		case firing && (!was || old.Phase == finding.Pending):
			e.Fire.add(key, limit)
		case is && now.Phase == finding.Pending && (!was || fired):
			e.Pend.add(key, limit)
		case fired && !firing:
			e.Resolve.add(key, limit)
		case was && !is && old.Phase == finding.Pending:
			e.Drop.add(key, limit)
		case was && !is: // The finding was gone, and keep_firing_for has ended in the new version.
			e.Resolve.add(key, limit)
		default:
			e.Unchanged.add(key, limit)
		}
		if told && b.notified[key] && !a.notified[key] {
			e.Again.add(key, limit)
		}
	}
	for _, id := range union(a.events, b.events) {
		old, was := a.events[id]
		now, is := b.events[id]
		switch {
		case was && is:
			e.Unchanged.add(old, limit)
		case is:
			e.Fire.add(now, limit)
		default:
			e.Drop.add(old, limit)
		}
	}
	return e
}

// union returns the keys of both maps, sorted.
func union[V any](a, b map[string]V) []string {
	all := map[string]bool{}
	for k := range a {
		all[k] = true
	}
	for k := range b {
		all[k] = true
	}
	return slices.Sorted(maps.Keys(all))
}

func byKey(list []finding.State) map[string]finding.State {
	m := make(map[string]finding.State, len(list))
	for _, f := range list {
		m[f.Key] = f
	}
	return m
}
