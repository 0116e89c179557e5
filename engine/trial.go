package engine

import (
	"cmp"
	"context"
	"log/slog"
	"maps"
	"slices"
	"time"

	"tallyman/internal/finding"
	"tallyman/internal/ledger"
	"tallyman/internal/notice"
	"tallyman/rules"
	"tallyman/rules/catalog"
	"tallyman/rules/row"
	"tallyman/scanners"
)

// Trial takes one rule in one scope through its runs without a ledger and without sinks: the scan, the judgement and the
// composition are those of a firing, what a firing would commit is kept in memory. Rule tests, previews
// and comparisons of two versions of a rule are made of it. It is not safe for concurrent use.
type Trial struct {
	unit   *unit
	memory *memory
	clock  *trialClock
	tap    *tap
}

// TrialStart is what a trial begins with: nothing, or what a ledger knows of the rule.
type TrialStart struct {
	State    ledger.ScopeState // a zero Registered means known since the first run
	Findings []finding.State
	Notices  map[string]*notice.Notice // those that the findings name
	Silencer Silencer                  // nothing is silenced
}

// TrialRun is one run of a trial.
type TrialRun struct {
	Run     ledger.Run // the passes of a rule of mode event added up
	Commits []*ledger.Commit
	Rows    []*row.Row // all that the probe returned, in its order
}

// NewTrial prepares a trial of the rule on the source. The catalogue has the rule's type.
func NewTrial(r *rules.Rule, source scanners.Source, types catalog.Catalog, start TrialStart) (*Trial, error) {
	m := newMemory(types, start)
	clock := &trialClock{}
	t := &Trial{memory: m, clock: clock, tap: &tap{Source: source}}
	e := &Engine{
		opts: (&Options{
			Ledger: m, Node: "trial", Clock: clock, Logger: slog.New(slog.DiscardHandler),
			Sinks: trialSinks(r), Silencer: start.Silencer,
		}).withDefaults(),
		log: slog.New(slog.DiscardHandler),
	}
	e.types.ledger = m
	u, err := newUnit(e, r, make(slots, 1))
	if err != nil {
		return nil, err
	}
	u.source = t.tap
	t.unit = u
	return t, nil
}

// trialSinks are stand-ins that nothing is delivered to. What they are is not known, so that each target has the strategy that
// the rule gives it.
func trialSinks(r *rules.Rule) map[string]Sink {
	sinks := map[string]Sink{}
	for _, d := range r.Deliver {
		sinks[d.Sink] = Sink{Push: true}
	}
	return sinks
}

// Verify prepares the probe and compiles the rule: problem.List or a *scanners.Error where the rule would not run.
func (t *Trial) Verify(ctx context.Context) error {
	return t.unit.verify(ctx, nil)
}

// Columns are those of the probe, after Verify.
func (t *Trial) Columns() []row.Column { return t.unit.ready.prepared.Columns() }

// Program returns the compiled rule, after Verify, for looking at single rows.
func (t *Trial) Program() *rules.Program { return t.unit.ready.program.Clone() }

// Run runs the firing that is due at that time and keeps what it would commit. A failed scan is a run, not an error.
func (t *Trial) Run(ctx context.Context, due time.Time) (*TrialRun, error) {
	t.clock.now = due
	if t.memory.state.Registered.IsZero() {
		t.memory.state.Registered = due
	}
	out, sum := &TrialRun{}, &held{}
	t.tap.rows, t.tap.kept = nil, kept{}
	for again := true; again; {
		if t.unit.ready.prepared == nil { // the source has refused the statement in the run before
			if t.unit.unverified = t.Verify(ctx); t.unit.unverified != nil && !t.unit.tellsFailures() {
				return nil, t.unit.unverified
			}
		}
		p := &pass{unit: t.unit, due: due.UTC(), started: due.UTC().Truncate(time.Microsecond), clock: time.Now()}
		known, err := p.recall(ctx)
		if err != nil {
			return nil, err
		}
		found := p.scan(ctx, known)
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		record, err := p.compose(ctx, known, found)
		if err != nil {
			return nil, err
		}
		if err := t.memory.apply(record); err != nil {
			return nil, err
		}
		sum.add(&record.Run)
		out.Commits = append(out.Commits, record)
		again = record.Again
	}
	out.Run, out.Rows = sum.run, t.tap.rows
	return out, nil
}

// Findings are the open ones by key.
func (t *Trial) Findings() []finding.State {
	return slices.SortedFunc(maps.Values(t.memory.findings), func(a, b finding.State) int {
		return cmp.Compare(a.Key, b.Key)
	})
}

// Notice returns a notice that the trial has made or began with.
func (t *Trial) Notice(id string) *notice.Notice { return t.memory.notices[id] }
