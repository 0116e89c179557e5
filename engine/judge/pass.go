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

// Pass is one scan of a rule and what follows from the scan. Set the exported fields before the first call, and do not
// change them afterwards.
type Pass struct {
	*ScopedRule
	Term     int64     // The clock term of Due.
	Began    time.Time // When the clock term in force began. Zero for the first term.
	Due      time.Time
	Started  time.Time // On the engine's clock, in whole µs.
	Begun    time.Time // On the machine's clock, to measure the duration.
	Node     string
	Silencer Silencer
	Log      *slog.Logger
	// Unverified is why the rule may not ask its source. Nil means it may. With an error the pass is a failed run.
	Unverified error
	// Resume says how far the earlier passes of the same firing have read. Only a rule with look_back has a Resume, and
	// not in its first pass. Without look_back, Resume is nil in every pass.
	Resume *Resumption
	// Clock is the clock of Started. Nil means the time stands still.
	Clock func() time.Time
	// Notices reads notices by id from the ledger, to resolve them or to see that they were sent. The result leaves out
	// ids that the ledger does not have.
	Notices func(ctx context.Context, ids []string) (map[string]*notice.Notice, error)
	// Shared runs the probe of a rule with split_by. Nil means the pass runs the probe alone.
	Shared SharedScan
	// Open reads open findings by the hashes of their keys, from the ledger. A hash without a finding is left out.
	Open func(ctx context.Context, keys []finding.Hash) ([]finding.State, error)
	// Carriers reads how many open findings carry each of the notices, from the ledger.
	Carriers func(ctx context.Context, notices []string) (map[string]int, error)
	// Scanned is called when the probe has returned its last row. Nil means no call.
	Scanned func()

	shadow     bool // The rule is in shadow: notices go only to the shadow inbox.
	sentBefore int  // How many events dropSentEvents has left out.
}

// Resumption is how far a firing has read when its next pass begins.
type Resumption struct {
	position []row.Value
	began    time.Time // When the first pass began, on the engine's clock.
	// The ledger's memory of seen rows. Only this run changes it while the claim is in force.
	back ledger.LookBack
	seen map[rowHash]struct{} // The rows of back.
}

// Snapshot is what the ledger knows of a rule in its scope when a pass begins.
type Snapshot struct {
	ledger.ScopeState
	findings []finding.State // The findings of rows. Empty where open is set.
	open     *finding.Open   // The open findings of a rule that judges each row by itself. Nil for any other rule.
	back     ledger.LookBack
	// The text of probe.watermark.initial, if this run begins the watermark. Empty means the watermark has begun.
	initial string
	// The scan reads above this position: the watermark, or a lower position for a rule with look_back.
	begin  []row.Value
	memory *seenMemory     // Nil means the rule has no look_back.
	alerts []finding.State // The findings about the rule itself: no_data and on_error.
	unread error           // See Result.Unread.
}

// Result is the outcome of a scan.
type Result struct {
	Fault  error // Why the run failed. Nil means the run did not fail.
	Unread error // Why the ledger's findings could not be read. With an error the result must not be used.

	run    ledger.Run // Counts, outcome, error and samples.
	step   finding.Result
	drafts []*rules.NoticeDraft // One for each of step.Tells, in the same order.
	// The JSON of the rows of step.Changes. A change without a row has nil, or its index lies behind the end of rows.
	rows      [][]byte
	events    []event     // Mode event.
	watermark []row.Value // Nil means unchanged.
	again     bool        // Mode event: the probe has more rows than max_rows, so another pass follows.
	resume    *Resumption // Where the next pass goes on, for a rule with look_back.
	lookBack  *ledger.LookBackChange
	seen      int // Rows that an earlier run has seen. They were not judged again.
}

// rowJudge takes the rows of a scan one by one. visit must not keep the row.
type rowJudge interface {
	visit(r *row.Row) error
	finish(res scanners.Result) (*Result, error)
}

// Begin takes what the ledger knows and returns the snapshot that the pass works on. A rule that has no watermark yet
// gets its initial one. Where Resume is set, back is not used.
func (p *Pass) Begin(state ledger.ScopeState, findings []finding.State, back ledger.LookBack) *Snapshot {
	if p.Resume != nil {
		back = p.Resume.back
	}
	known := &Snapshot{ScopeState: p.intoTerm(state), back: back}
	p.shadow = p.Rule.Shadow && state.Promoted.IsZero()
	known.findings, known.alerts = finding.Split(p.intoTermFindings(findings))
	if p.Program == nil {
		return known // The rule is not verified, so the run will fail.
	}
	if w := p.Rule.Probe.Watermark; w != nil && len(known.Watermark) != len(w.Columns) {
		// A failed run records the initial watermark as well.
		known.Watermark, known.initial = p.Program.InitialWatermark(p.Due), w.InitialText()
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

// intoTerm moves the times of the state into the pass's clock term. A time from an earlier term must not lie after the
// term's beginning: it would seem to be in the future.
func (p *Pass) intoTerm(state ledger.ScopeState) ledger.ScopeState {
	state.Registered = finding.Turned(state.Registered, state.Term < p.Term, p.Began, p.Due)
	state.Scope = state.Turn(p.Term, p.Began, p.Due)
	return state
}

// intoTermFindings is intoTerm for findings. A notice whose time lies ahead was sent in an earlier term. For reminders
// it counts as sent when the term began.
func (p *Pass) intoTermFindings(findings []finding.State) []finding.State {
	for i := range findings {
		findings[i].LastNotified = finding.Turned(findings[i].LastNotified, false, p.Began, p.Due)
	}
	return findings
}

// Scan runs the probe and judges its rows. Scan always returns a result. A failed run leaves the findings as they were
// and moves the observed clock.
func (p *Pass) Scan(ctx context.Context, known *Snapshot) *Result {
	var result *Result
	err := p.Survive(func() (err error) {
		result, err = p.tryScan(ctx, known)
		return err
	})
	if err != nil {
		var refused *scanners.Error
		if errors.As(err, &refused) && !refused.Transient {
			p.Forget() // The schema may have changed, so the rule must be verified before the next run.
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

// ask runs the probe. For a rule with look_back, ask runs the probe again from where the answer ended, as long as this
// position is below the watermark. Otherwise a probe with a LIMIT would return the same old rows in every run.
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

// remembered returns how many seen rows the probe may return in addition to max_rows new ones.
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

// failed returns the result of a run that has judged no row.
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

// Resume returns the Pass.Resume of the firing's next pass. Nil means that pass begins at the watermark, or no pass
// follows.
func (r *Result) Resume() *Resumption { return r.resume }

// Args returns the values of the statement's parameters: the rule's own and the built-in ones.
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

// The probe may compare a time with a column whose form the rule declares. writeForms writes such a time in that form.
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

// lastRunAt returns the due time of the last run that did not fail. So the next run also reads the rows of a failed
// run. Before the first such run, lastRunAt returns when the ledger first heard of the rule.
func (p *Pass) lastRunAt(known *Snapshot) time.Time {
	if known.LastOKDue.IsZero() {
		return known.Registered
	}
	return known.LastOKDue
}

// alert adds the findings about the rule itself: no_data: alert and on_error: alert. Each has a reserved key and the
// same life as any other finding. Where the rule no longer asks for an alert, an open finding of this alert ends.
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
		wrong     bool // The run calls for the alert.
		silent    bool // The run does not show whether the alert must begin or end, so its finding stays.
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

// unjudged returns how many rows could not be judged or have no notice because of an error, with a sample.
func (r *Result) unjudged() string {
	text := fmt.Sprintf("%d of %d rows could not be judged, or their notices could not be made", r.run.Errored, r.run.Rows)
	if len(r.run.Samples) > 0 {
		text += "; for example: " + r.run.Samples[0]
	}
	return text
}

// alertOf returns the state of the alert with the key. Where there is none, the state is new.
func (s *Snapshot) alertOf(key string) finding.State {
	for _, st := range s.alerts {
		if st.Key == key {
			return st
		}
	}
	return finding.State{Key: key}
}

// faultOf splits an error into its code and its text.
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
