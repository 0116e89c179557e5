package trial

import (
	"cmp"
	"context"
	"log/slog"
	"maps"
	"slices"
	"time"

	"tallyman/engine/judge"
	"tallyman/internal/finding"
	"tallyman/internal/ledger"
	"tallyman/internal/notice"
	"tallyman/internal/silence"
	"tallyman/rules"
	"tallyman/rules/catalog"
	"tallyman/rules/row"
	"tallyman/scanners"
)

// Trial takes one rule in one scope through its runs. Make one with New. It is not safe for concurrent use.
type Trial struct {
	scoped     *judge.ScopedRule
	types      catalog.Catalog
	silencer   judge.Silencer
	term       ledger.Term
	memory     *memory
	tap        *tap
	unverified error // Why the rule is not verified. Only for a rule with on_error: alert.
	toldBefore int   // See judge.Pass.ToldBefore.
}

// Run is one run of a trial.
type Run struct {
	Run     ledger.Run       // The sum of the passes.
	Commits []*ledger.Commit // One for each pass.
	Rows    []*row.Row       // All rows of the scope that the probe returned, in its order.
}

// New prepares a trial of the rule on the source. types must have the rule's type.
func New(r *rules.Rule, source scanners.Source, types catalog.Catalog, start Start) (*Trial, error) {
	typ := types[r.Notice.Type]
	scoped, err := judge.NewScopedRule(r, channels(r.Of(&typ)), nil)
	if err != nil {
		return nil, err
	}
	t := &Trial{scoped: scoped, types: types, silencer: start.Silencer, term: start.Term, memory: newMemory(start), tap: &tap{source: source, scoped: scoped, forms: r.Probe.Forms()}}
	if t.silencer == nil {
		t.silencer = &silence.Set{}
	}
	if t.term.Number < start.State.Term {
		t.term = ledger.Term{Number: start.State.Term}
	}
	return t, nil
}

// channels returns stand-ins for the rule's sinks; nothing is delivered to them. Their kinds are not known. All count
// as push channels, so that each target has the strategy that the rule gives it.
func channels(r *rules.Rule) map[string]judge.Channel {
	list := map[string]judge.Channel{}
	for _, d := range r.Deliver {
		list[d.Sink] = judge.Channel{Push: true}
	}
	return list
}

// Verify prepares the probe and compiles the rule. The error is a problem.List or a *scanners.Error where the rule
// would not run.
func (t *Trial) Verify(ctx context.Context) error {
	if t.scoped.Prepared == nil {
		ctx, done := context.WithTimeout(ctx, judge.PrepareTimeout)
		defer done()
		prepared, err := t.tap.Prepare(ctx, t.scoped.Statement)
		if err != nil {
			return err
		}
		t.scoped.Prepared = prepared
	}
	return t.scoped.Compile(t.types, 1)
}

// Columns returns the columns of the probe. Call Verify first.
func (t *Trial) Columns() []row.Column { return t.scoped.Prepared.Columns() }

// Program returns a copy of the compiled rule, to evaluate single rows. Call Verify first.
func (t *Trial) Program() *rules.Program { return t.scoped.Program.Clone() }

// pass returns a pass that starts at its due time.
func (t *Trial) pass(due time.Time) *judge.Pass {
	return &judge.Pass{
		ScopedRule: t.scoped, Term: t.term.Number, Began: t.term.Began, Due: due.UTC(), Started: due.UTC().Truncate(time.Microsecond), Begun: time.Now(),
		Node: "trial", Silencer: t.silencer, Log: slog.New(slog.DiscardHandler), Unverified: t.unverified, Notices: t.memory.Notices,
	}
}

// Run runs the firing that is due at that time and keeps what it would commit. A failed scan makes a failed run, not an
// error.
func (t *Trial) Run(ctx context.Context, due time.Time) (*Run, error) {
	out := &Run{}
	t.tap.rows, t.tap.budget = nil, judge.Budget{}
	err := t.passes(ctx, due, func(record *ledger.Commit) (bool, error) {
		if err := t.memory.apply(record); err != nil {
			return false, err
		}
		out.Run = judge.AddPass(&out.Run, &record.Run)
		out.Commits = append(out.Commits, record)
		return true, nil
	})
	if err != nil {
		return nil, err
	}
	out.Rows = t.tap.rows
	return out, nil
}

// Watch runs the firing that is due at that time and calls see with what each pass would commit. Watch keeps no rows
// and no notices, so it needs little memory. The firing ends early when see returns false.
func (t *Trial) Watch(ctx context.Context, due time.Time, see func(*ledger.Commit) (goOn bool, err error)) error {
	t.tap.passes = true
	defer func() { t.tap.passes = false }()
	return t.passes(ctx, due, func(record *ledger.Commit) (bool, error) {
		goOn, err := see(record)
		if err != nil {
			return false, err
		}
		rest := *record
		rest.Notices = nil
		return goOn, t.memory.apply(&rest)
	})
}

// passes runs the passes of a firing until the last one, or until take returns false.
func (t *Trial) passes(ctx context.Context, due time.Time, take func(*ledger.Commit) (goOn bool, err error)) error {
	if t.memory.state.Registered.IsZero() {
		t.memory.state.Registered = due
	}
	var resume *judge.Resumption
	for again := true; again; {
		if t.scoped.Prepared == nil { // The source refused the statement in the run before.
			if t.unverified = t.Verify(ctx); t.unverified != nil && t.scoped.Rule.OnError != rules.PolicyAlert {
				return t.unverified
			}
		}
		p := t.pass(due)
		p.Resume = resume
		known := p.Begin(t.memory.state, t.memory.list(), t.memory.lookBack)
		result := p.Scan(ctx, known)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		record, err := p.Compose(ctx, known, result)
		if err != nil {
			return err
		}
		t.toldBefore += p.ToldBefore()
		goOn, err := take(record)
		if err != nil {
			return err
		}
		again, resume = record.Again && goOn, result.Resume()
	}
	return nil
}

// Rewind moves the watermark and clears the memory of look_back, as a ledger does.
func (t *Trial) Rewind(to []row.Value) {
	t.memory.state.Watermark, t.memory.lookBack = to, ledger.LookBack{}
}

// Cost asks the source for the probe's current plan, without running the probe. The plan is nil where the source cannot
// explain plans. The error says why the rule would not run; its text begins with a code.
func (t *Trial) Cost(ctx context.Context, now time.Time) (*scanners.Plan, error) {
	bounded := t.scoped.Rule.Probe.MaxCost > 0
	source, ok := t.tap.source.(scanners.Explainer)
	switch {
	case !ok && bounded:
		return nil, t.scoped.CostUnknown()
	case !ok:
		return nil, nil
	}
	ctx, done := context.WithTimeout(ctx, judge.PrepareTimeout)
	defer done()
	p := t.pass(now)
	plan, err := source.Explain(ctx, t.scoped.Statement, p.Args(p.Begin(t.memory.state, nil, t.memory.lookBack)))
	if err != nil {
		return nil, err
	}
	if bounded {
		return &plan, t.scoped.TooDear(plan.Cost, plan.Shape)
	}
	return &plan, nil
}

// Findings returns the open findings, sorted by key.
func (t *Trial) Findings() []finding.State {
	return slices.SortedFunc(maps.Values(t.memory.findings), func(a, b finding.State) int {
		return cmp.Compare(a.Key, b.Key)
	})
}

// ToldBefore returns how many events the runs have left out because they had a notice before the trial.
func (t *Trial) ToldBefore() int { return t.toldBefore }

// Remembers returns a function that tells whether an earlier run has seen a row. Remembers returns nil where the rule
// has no look_back. Call Verify first.
func (t *Trial) Remembers() func(*row.Row) bool {
	return t.scoped.Remembers(t.memory.state, t.memory.lookBack)
}

// Notice returns a notice that the trial has made or began with, or nil.
func (t *Trial) Notice(id string) *notice.Notice { return t.memory.notices[id] }
