package judge

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"time"

	"tallyman/internal/finding"
	"tallyman/internal/ledger"
	"tallyman/internal/notice"
	"tallyman/rules"
	"tallyman/rules/probe"
	"tallyman/rules/problem"
	"tallyman/rules/row"
	"tallyman/scanners"
)

// Pass is one scan of a rule and what follows from the scan. The fields are set before the first call and not changed.
type Pass struct {
	*ScopedRule
	Term     int64     // the clock term of Due
	Began    time.Time // when the clock term began that is in force, zero of the first
	Due      time.Time
	Started  time.Time // on the engine's clock, µs
	Begun    time.Time // on the machine's, for the duration
	Node     string
	Silencer Silencer
	Log      *slog.Logger
	// Unverified is why the rule may not ask its source; nil while it may. Such a pass is a failed run.
	Unverified error
	// Resume says how far the passes before of the same firing have read, of a rule that looks back; nil = this is the
	// first pass.
	Resume *Resumption
	// Clock tells the time that Started is of; nil = the time stands still.
	Clock func() time.Time
	// Notices reads the notices that are to be taken back, from the ledger.
	Notices func(ctx context.Context, ids []string) (map[string]*notice.Notice, error)
	// Shared runs the probe of a rule with split_by; nil = the pass runs it for itself.
	Shared SharedScan
	// Open reads open findings by the hashes of their keys, from the ledger. A hash without a finding is left out.
	Open func(ctx context.Context, keys []finding.Hash) ([]finding.State, error)
	// Carriers reads how many open findings carry each of the notices, from the ledger.
	Carriers func(ctx context.Context, notices []string) (map[string]int, error)
	// Scanned is called when the probe has returned its last row; nil = nobody wants to know.
	Scanned func()

	shadow bool // it tells the shadow inbox alone
	told   int  // events that untold has left out
}

// Resumption is how far a firing has read when its next pass begins.
type Resumption struct {
	position []row.Value
	began    time.Time            // when the first pass began, on the engine's clock
	back     ledger.LookBack      // what the ledger remembers: nobody else changes it while the claim is in force
	seen     map[rowHash]struct{} // the rows of back
}

// Snapshot is what the ledger knows of a rule in its scope when a pass begins.
type Snapshot struct {
	ledger.ScopeState
	findings []finding.State // that rows have made
	open     *finding.Open   // instead of findings; nil = findings are all
	back     ledger.LookBack
	initial  string          // what the rule says of `initial`, where the watermark begins with this run; "" = the watermark has begun
	begin    []row.Value     // the scan reads what is above it: the watermark, or a position below for a rule that looks back
	memory   *seenMemory     // nil = the rule does not look back
	alerts   []finding.State // that the rule tells of itself
	unread   error           // see Result.Unread
}

// Result is what a scan has come to.
type Result struct {
	Fault  error // of a failed run; nil = the run has not failed
	Unread error // why the ledger's findings could not be read: the result is worth nothing

	run       ledger.Run // counts, outcome, error and samples
	step      finding.Result
	drafts    []*rules.NoticeDraft // of step.Tells
	rows      [][]byte             // JSON of the rows that have made step.Changes; those without come last, or are nil
	events    []event              // mode event
	watermark []row.Value          // nil = unchanged
	again     bool                 // mode event: there are more rows than max_rows
	resume    *Resumption          // for the next pass, of a rule that looks back
	lookBack  *ledger.LookBackChange
	seen      int // rows that an earlier run has seen, and that were not judged again
}

// rowJudge takes the rows of a scan while they stream by.
type rowJudge interface {
	visit(r *row.Row) error
	finish(res scanners.Result) (*Result, error)
}

// Begin takes what the ledger knows. A rule that has no watermark yet gets the one that it begins with. Where Resume is
// set, back is not looked at.
func (p *Pass) Begin(state ledger.ScopeState, findings []finding.State, back ledger.LookBack) *Snapshot {
	if p.Resume != nil {
		back = p.Resume.back
	}
	known := &Snapshot{ScopeState: p.turn(state), back: back}
	p.shadow = p.Rule.Shadow && state.Promoted.IsZero()
	known.findings, known.alerts = finding.Split(p.turnFindings(findings))
	if p.Program == nil {
		return known // the run fails, since the rule is not verified
	}
	if w := p.Rule.Probe.Watermark; w != nil && len(known.Watermark) != len(w.Columns) {
		known.Watermark, known.initial = p.Program.InitialWatermark(p.Due), w.InitialText() // recorded by this run, even if it fails
		back = ledger.LookBack{Seen: back.Seen}
	}
	known.begin = known.Watermark
	if p.Rule.Mode == rules.ModeEvent && !p.Rule.Probe.Watermark.LooksBack().IsZero() {
		known.memory = newSeenMemory(p, known.Watermark, back)
		known.begin = known.memory.back.From
	}
	if known.memory != nil && p.Resume != nil {
		known.begin = p.Resume.position
	}
	return known
}

// turn is the state as a run of the pass's clock term takes it up: nothing of an earlier term lies ahead of the term's
// beginning.
func (p *Pass) turn(state ledger.ScopeState) ledger.ScopeState {
	state.Registered = finding.Turned(state.Registered, state.Term < p.Term, p.Began, p.Due)
	state.Scope = state.Turn(p.Term, p.Began, p.Due)
	return state
}

// turnFindings is turn for findings: one that was told at a time that lies ahead was told before the term began, for
// reminders.
func (p *Pass) turnFindings(findings []finding.State) []finding.State {
	for i := range findings {
		findings[i].LastNotified = finding.Turned(findings[i].LastNotified, false, p.Began, p.Due)
	}
	return findings
}

// Scan runs the probe and judges its rows. It always has a result: a failed run leaves the findings as they
// were and moves the observed clock.
func (p *Pass) Scan(ctx context.Context, known *Snapshot) *Result {
	var result *Result
	err := p.Survive(func() (err error) {
		result, err = p.tryScan(ctx, known)
		return err
	})
	if err != nil {
		var refused *scanners.Error
		if errors.As(err, &refused) && !refused.Transient {
			p.Forget() // the schema may have changed: verify before the next run
		}
		result = p.failed(known, err)
	}
	result.Unread = known.unread
	p.alert(known, result)
	return result
}

func (p *Pass) tryScan(ctx context.Context, known *Snapshot) (*Result, error) {
	if p.Unverified != nil {
		return nil, p.Unverified
	}
	p.Program.SetNow(p.Due)
	judge := p.rowJudge(ctx, known)
	res, err := p.ask(ctx, known, judge)
	if err != nil {
		return nil, err
	}
	if p.Scanned != nil {
		p.Scanned()
	}
	result, err := judge.finish(res.Result)
	if err != nil {
		return nil, err
	}
	result.stray(res)
	result.run.Rows, result.run.Outcome = res.Rows-result.seen, ledger.OutcomeOK
	if result.run.Errored+result.run.Strays > 0 || result.step.Repeated > 0 {
		result.run.Outcome = ledger.OutcomeDegraded
	}
	return result, nil
}

// ask runs the probe. A rule that looks back asks again from where the answer ended, as long as that is below its
// watermark: a LIMIT of the probe would otherwise return the same rows for ever.
func (p *Pass) ask(ctx context.Context, known *Snapshot, judge rowJudge) (all SharedResult, err error) {
	for {
		begin := known.begin
		rows := 0
		req := scanners.Request{Args: p.Args(known), Timeout: p.Rule.Probe.Timeout, MaxRows: p.Rule.Probe.MaxRows + known.remembered()}
		if p.Rule.SplitBy != "" {
			return p.shared(ctx, req, judge.visit)
		}
		res, err := p.Prepared.Scan(ctx, req, func(r *row.Row) error {
			err := judge.visit(r)
			if err == nil {
				rows++
			}
			return err
		})
		if errors.Is(err, errPageFull) {
			res, err = scanners.Result{Rows: rows, More: true}, nil
		}
		if err != nil {
			return all, err
		}
		all.Rows, all.More = all.Rows+res.Rows, res.More
		event, ok := judge.(*eventJudge)
		if !ok || all.More || !event.isBelow(begin) {
			return all, nil
		}
		known.begin = slices.Clone(event.highest)
	}
}

// remembered is how many rows the probe may return beside new ones.
func (s *Snapshot) remembered() int {
	if s.memory == nil {
		return 0
	}
	return len(s.memory.seen)
}

func (p *Pass) rowJudge(ctx context.Context, known *Snapshot) rowJudge {
	switch {
	case known.open != nil:
		return newOpenJudge(p, known, func(keys []finding.Hash) ([]finding.State, error) { return p.readOpen(ctx, known, keys) })
	case p.Rule.Mode == rules.ModeEvent:
		return newEventJudge(p, known)
	case p.Rule.Per == rules.PerResult:
		return newResultJudge(p, known)
	case len(p.Rule.GroupBy) > 0:
		return newGroupJudge(p, known)
	}
	return newStateJudge(p, known)
}

// failed is a run that saw nothing.
func (p *Pass) failed(known *Snapshot, err error) *Result {
	step := finding.Fail(known.Scope, known.findings, p.Policy, p.Due)
	if known.open != nil {
		step = finding.FailOpen(known.Scope, known.open, p.Policy, p.Due)
	}
	return &Result{
		Fault: err,
		run:   ledger.Run{Outcome: ledger.OutcomeFailed, Error: Cut(err.Error(), LongError)},
		step:  step,

		watermark: known.Watermark, lookBack: known.memory.afterFailure(err),
	}
}

// Resume is for the next pass of the firing; nil = the pass begins at the watermark, or there is none.
func (r *Result) Resume() *Resumption { return r.resume }

// Args are the values of the statement's parameters: the rule's own and the built-in ones.
func (p *Pass) Args(known *Snapshot) map[string]any {
	args := map[string]any{
		"now":          p.Started,
		"scheduled_at": p.Due,
		"last_run_at":  p.lastRunAt(known),
		"scope":        p.Rule.Scope,
	}
	if w := p.Rule.Probe.Watermark; w != nil {
		args["until"] = p.Due.Add(-w.Lag)
		for i, v := range known.begin {
			args["wm_"+w.Columns[i]] = v
		}
	}
	maps.Copy(args, p.Rule.Probe.Params)
	p.writeForms(args)
	maps.DeleteFunc(args, func(name string, _ any) bool { return !slices.Contains(p.Statement.Params, name) })
	return args
}

// writeForms writes the times that are compared with declared columns as these write theirs.
func (p *Pass) writeForms(args map[string]any) {
	columns, forms := p.Prepared.Columns(), p.Rule.Probe.Forms()
	for name, form := range forms {
		at := row.Index(columns, name)
		if mark, ok := args["wm_"+name].(row.Value); ok && at >= 0 {
			args["wm_"+name] = form.Write(mark, &columns[at])
		}
	}
	for _, param := range p.Statement.Params {
		name, column, isForm := probe.Formed(param)
		if t, ok := args[name].(time.Time); isForm && ok {
			args[param] = forms[column].Write(row.TimeOf(t), &columns[row.Index(columns, column)])
		}
	}
}

// lastRunAt is the due time of the last run that saw rows, so that a failed one leaves no hole; before
// the first it is when the rule became known.
func (p *Pass) lastRunAt(known *Snapshot) time.Time {
	if known.LastOKDue.IsZero() {
		return known.Registered
	}
	return known.LastOKDue
}

// alert adds what the rule tells of itself: no_data: alert and on_error: alert. Each is a finding of a reserved key
// that lives as the others do. A rule that no longer asks for one lets go of it.
func (p *Pass) alert(known *Snapshot, result *Result) {
	failed := result.run.Outcome == ledger.OutcomeFailed
	unjudged := !failed && result.run.Errored > 0 && p.Rule.Unjudged.Reached(result.run.Errored, result.run.Rows)
	onError := rules.AlertOnError
	if unjudged {
		onError = rules.AlertUnjudged
	}
	for _, a := range []struct {
		key, kind string
		policy    rules.Policy
		wrong     bool
		silent    bool // the run says nothing about it
	}{
		{finding.NoData, rules.AlertNoData, p.Rule.NoData, !failed && result.run.Rows == 0, failed},
		{finding.OnError, onError, p.Rule.OnError, failed || unjudged, false},
	} {
		st, policy := known.alertOf(a.key), p.Policy
		if a.policy != rules.PolicyAlert {
			a.wrong, a.silent, policy.KeepFiringFor = false, false, 0
		}
		if a.silent {
			result.step.Leave(st)
			continue
		}
		var draft *rules.NoticeDraft
		by := ""
		if a.wrong {
			code, text := faultOf(result.Fault)
			if a.kind == rules.AlertUnjudged {
				code, text = rules.AlertUnjudged, result.unjudged()
			}
			draft = rules.AlertDraft(p.Rule, a.kind, code, text, p.lastRunAt(known))
			by = p.silenced(a.key, draft)
		}
		tells := len(result.step.Tells)
		result.step.Alert(st, a.wrong, rules.AlertPriority, policy, by, known.LastDue, p.Due)
		if len(result.step.Tells) > tells {
			result.drafts = append(result.drafts, draft)
		}
	}
}

// unjudged says how many rows could not be judged or told, with a sample.
func (r *Result) unjudged() string {
	text := fmt.Sprintf("%d of %d rows could not be judged or told", r.run.Errored, r.run.Rows)
	if len(r.run.Samples) > 0 {
		text += "; for example: " + r.run.Samples[0]
	}
	return text
}

// alertOf returns the finding's state, new where there is none.
func (s *Snapshot) alertOf(key string) finding.State {
	for _, st := range s.alerts {
		if st.Key == key {
			return st
		}
	}
	return finding.State{Key: key}
}

// faultOf takes an error apart into its code and what it says.
func faultOf(err error) (code, text string) {
	var source *scanners.Error
	var own *Error
	var problems problem.List
	switch {
	case err == nil:
		return "", ""
	case errors.As(err, &source):
		return string(source.Code), cmp.Or(source.Hint, source.Err.Error())
	case errors.As(err, &own):
		return own.Code, own.Message
	case errors.As(err, &problems) && len(problems) > 0:
		return problems[0].Code, problems[0].Message
	}
	return "run_failed", err.Error()
}
