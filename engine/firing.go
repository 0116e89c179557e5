package engine

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"go.opentelemetry.io/otel/attribute"

	"tallyman/engine/judge"
	"tallyman/internal/finding"
	"tallyman/internal/ledger"
	"tallyman/internal/notice"
	"tallyman/internal/retry"
	"tallyman/internal/trace"
	"tallyman/rules/row"
	"tallyman/scanners"
)

// fire runs one firing, from its claim to its commit. A run of a rule of mode event has several passes when there are
// more rows than max_rows.
func (u *unit) fire(ctx context.Context, h *claimHandle) error {
	u.e.opts.Step(StepClaimed)
	u.scoped.BorrowProgram()
	defer u.scoped.ReturnProgram()
	var resume *judge.Resumption
	state := h.claim.State
	for again := true; again; {
		p := u.newPass(&h.claim, u.now())
		p.Resume, p.claimed = resume, state
		if u.group != nil {
			p.Shared = p.shareScan(h.room)
		}
		var err error
		if again, err = p.run(ctx, h); err != nil {
			return err
		}
		resume, state = p.next, nil // The commit of the pass has changed the state.
	}
	return nil
}

// pass is one scan of a run and what follows from the scan. A pass begins with a read from the ledger and ends with a
// commit to the ledger.
type pass struct {
	*unit
	*judge.Pass
	// The state of the scope from the claim, for the first pass. Nil means the pass reads the state from the ledger.
	claimed *ledger.ScopeState
	read    openFindings // The findings that the pass builds on, as the ledger has them.
	// Where the next pass goes on. Nil means the next pass goes on at the watermark, or there is no next pass.
	next *judge.Resumption
}

func (u *unit) newPass(c *ledger.Claim, started time.Time) *pass {
	return &pass{unit: u, Pass: &judge.Pass{
		ScopedRule: u.scoped, Term: c.Term, Began: u.term.Began, Due: c.Due.UTC(), Started: started.UTC().Truncate(time.Microsecond), Begun: time.Now(),
		Node: u.e.opts.Node, Silencer: u.e.opts.Silencer, Log: u.logger(), Unverified: u.unverified,
		Notices: u.e.opts.Ledger.Notices, Clock: u.now,
		Open: func(ctx context.Context, keys []finding.Hash) ([]finding.State, error) {
			return u.e.opts.Ledger.OpenFindings(ctx, u.rule.ID, u.rule.Scope, keys)
		},
		Carriers: func(ctx context.Context, notices []string) (map[string]int, error) {
			return u.e.opts.Ledger.Carriers(ctx, u.rule.ID, u.rule.Scope, notices)
		},
		Scanned: func() { u.e.opts.Step(StepScanned) },
	}}
}

// shareScan returns a scan by the group. The scan calls visit with the rows of the scope. After the scan the pass takes
// a worker, to make its findings and notices.
func (p *pass) shareScan(taken *room) judge.SharedScan {
	return func(ctx context.Context, req scanners.Request, visit func(*row.Row) error) (judge.SharedResult, error) {
		result, err := p.group.scan(ctx, p, req, visit)
		if !taken.take(p.e.workers, ctx.Done()) {
			return judge.SharedResult{}, context.Cause(ctx)
		}
		return result, err
	}
}

// run does one pass: it reads what the ledger knows, scans, judges the rows and commits. run returns whether another
// pass must follow.
func (p *pass) run(ctx context.Context, h *claimHandle) (again bool, err error) {
	ctx, span := p.trace(ctx, h)
	defer func() { span.End(err) }()
	known, err := p.recall(ctx, &h.claim)
	if err != nil {
		return false, err
	}
	scanning, step := p.e.opts.Tracer.Step(ctx, "scan")
	result := p.Scan(scanning, known) // Probe, condition and findings. A failed probe is a result as well.
	step.End(result.Fault)
	if ctx.Err() != nil {
		return false, context.Cause(ctx)
	}
	if result.Unread != nil {
		return false, result.Unread
	}
	if p.stale(ctx) {
		return false, errStale // The unit gives the firing back, and soon runs it again.
	}
	judging, step := p.e.opts.Tracer.Step(ctx, "judge")
	record, err := p.Compose(judging, known, result)
	step.End(err)
	if err != nil {
		return false, err
	}
	p.e.opts.Step(StepJudged)
	if record.IsQuiet() { // The ledger writes quiet records together, which takes a while: leave the room to others.
		h.room.leave()
	}
	committing, step := p.e.opts.Tracer.Step(ctx, "commit")
	committed, err := p.commit(committing, h, known, record)
	step.End(err)
	if err != nil {
		return false, err
	}
	p.remember(&h.claim, record)
	describe(span, &record.Run)
	p.announce(h, record, committed)
	p.next = result.Resume()
	return record.Again, nil
}

// suspectAfter is the number of failed commits after which the record itself is suspected, and not the ledger.
const suspectAfter = 5

// commit writes the record, for as long as this node has the claim. commit waits for a ledger that is down. A ledger
// that answers but keeps refusing the record gets a failed run instead, with the reason.
func (p *pass) commit(ctx context.Context, h *claimHandle, known *judge.Snapshot, record *ledger.Commit) (ledger.CommitResult, error) {
	pauses := retry.New(100*time.Millisecond, 2*time.Second)
	for attempt := 1; ; attempt++ {
		p.e.opts.Step(StepCommitting)
		committed, err := h.commit(ctx, record)
		if err == nil {
			p.e.opts.Step(StepCommitted)
			return committed, nil
		}
		if ctx.Err() != nil || errors.Is(err, ledger.ErrFenced) {
			return ledger.CommitResult{}, errors.Join(err, context.Cause(ctx))
		}
		p.Log.Warn("The run was not committed. The node tries again soon.", "run", p.id(), "due", p.Due, "attempt", attempt, "error", err)
		if attempt >= suspectAfter && h.renew(ctx) == nil {
			*record = *p.Refused(ctx, known, err, attempt >= 2*suspectAfter)
		}
		if !pause(ctx, nil, pauses.Next()) {
			return ledger.CommitResult{}, context.Cause(ctx)
		}
	}
}

// announce wakes the delivery loops and informs the observer and the status. Call it after the commit.
func (p *pass) announce(h *claimHandle, record *ledger.Commit, committed ledger.CommitResult) {
	p.e.Wake(committed.Lanes)
	for _, n := range record.Notices {
		p.e.opts.Observer.NoticeMade(n.Notice.Type, string(n.Notice.Status))
	}
	record.Run.Unsubscribed += committed.Unsubscribed
	h.add(&record.Run)
	if !record.Again {
		ended := h.run // A copy, because the status keeps it and must not keep the whole claim.
		recovered := p.status.ran(&ended)
		p.e.opts.Observer.RunDone(h.run)
		p.logRun(&ended)
		if recovered {
			p.e.failures[p.rule.Source].Recover()
		}
	}
}

func (p *pass) logRun(run *ledger.Run) {
	log := p.Log.With("run", p.id(), "due", run.Due, "duration", run.Duration, "rows", run.Rows, "notices", run.Notices)
	switch run.Outcome {
	case ledger.OutcomeFailed:
		p.logFailure(log.With("source", p.rule.Source, "error", run.Error))
	case ledger.OutcomeDegraded:
		log.Warn("The run is degraded. The samples show which rows.", "errored", run.Errored, "samples", run.Samples)
	default:
		log.Debug("The run is done.", "outcome", string(run.Outcome), "pending", run.Pending, "firing", run.Firing)
	}
}

// logFailure logs a failed run. While a source is down, the runs of all its rules fail. Then these runs have one line
// together for each failuresWindow.
func (p *pass) logFailure(log *slog.Logger) {
	own := p.e.failures[p.rule.Source].Fail(
		func() { log.Warn("The run failed. The findings of rows stay as they were.") },
		func(count int) {
			log.Warn("Runs on the source failed. The findings of rows stay as they were. The line names the latest run.", "count", count)
		})
	if !own {
		log.Debug("The run failed. A later line counts the failed runs of the source.")
	}
}

// origin names the pass. The notices of the pass are traced back to it.
func (p *pass) origin() notice.Origin { return notice.RunOrigin(p.rule.ID, p.rule.Scope, p.Started) }

// id is the name of the run in the logs. Deliveries log the same name, so that a notice can be followed from its firing
// to its end.
func (p *pass) id() string { return p.origin().String() }

// trace begins the trace of the pass. The trace of the first pass includes the claim. Each later trace links to the
// trace before it.
func (p *pass) trace(ctx context.Context, h *claimHandle) (context.Context, *trace.Span) {
	if p.e.opts.Tracer == nil {
		return ctx, nil
	}
	run := &trace.Run{
		Rule: p.rule.ID, Scope: p.rule.Scope, Node: p.e.opts.Node, Due: p.Due, Started: p.Started,
		Claiming: p.Begun, Repeated: h.claim.Repeated, Before: h.traced,
	}
	if h.traced == nil {
		run.Claiming, run.Claimed = h.asked, h.given
	}
	origin := p.origin()
	h.traced = &origin
	return p.e.opts.Tracer.Run(ctx, run)
}

// describe records in the trace how the run ended.
func describe(span *trace.Span, run *ledger.Run) {
	span.Set(attribute.String("tallyman.outcome", string(run.Outcome)), attribute.Int("tallyman.rows", run.Rows),
		attribute.Int("tallyman.matched", run.Matched), attribute.Int("tallyman.notices", run.Notices))
	if run.Outcome == ledger.OutcomeFailed {
		span.Fail(run.Error)
	}
}
