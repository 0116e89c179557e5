package preview

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"tallyman/engine/judge"
	"tallyman/engine/trial"
	"tallyman/internal/finding"
	"tallyman/internal/ledger"
	"tallyman/internal/notice"
	"tallyman/rules"
	"tallyman/rules/catalog"
	"tallyman/rules/row"
	"tallyman/rules/schedule"
	"tallyman/rules/strictyaml"
	"tallyman/scanners"
)

// Request is a rule, and what a preview of the rule needs.
type Request struct {
	Rule   *rules.Rule
	Source scanners.Source
	Name   string // The name of the source.
	Types  catalog.Catalog
	Sinks  map[string]Sink // Keyed by sink.
	// Ledger has the state of the rule. Nil means the rule is tried as if it ran for the first time; NoLedger says why.
	Ledger   trial.Ledger
	NoLedger string
	// Subscriptions returns the subscriptions to a type.
	Subscriptions func(ctx context.Context, typ string) ([]ledger.Subscription, error)
	Silencer      judge.Silencer // Nil means nothing is silenced.
	Due           time.Time
	Limit         int // The largest number of rows, of findings and of notices that are listed. 0 means all.
}

// Sink is a configured sink: its type, and what the type declares. A sink that is neither an inbox nor a push channel
// is a queue.
type Sink struct {
	Type string
	judge.Channel
}

// inbox returns the name and the type of the inbox.
func (r *Request) inbox() (name, typ string) {
	for name, s := range r.Sinks {
		if s.Inbox {
			return name, s.Type
		}
	}
	return "", "inbox" // No inbox is configured. Another check reports that.
}

// Preview is a tried run and its report.
type Preview struct {
	Report *Report
	req    Request
	trial  *trial.Trial
	run    *trial.Run
}

// Run tries the rule. The error is a problem.List, a *scanners.Error or a *RefusedError where the rule would not run. A
// run that fails is no error: its report says why.
func Run(ctx context.Context, req Request) (*Preview, error) {
	var start trial.Start
	from := FromNone
	if req.Ledger != nil {
		s, known, err := trial.From(ctx, req.Ledger, req.Rule.ID, req.Rule.Scope)
		if err != nil {
			return nil, fmt.Errorf("read the rule's state from the ledger: %w", err)
		}
		if start, from = s, FromNew; known {
			from = FromLedger
		}
	}
	try, err := trial.New(req.Rule, req.Source, req.Types, start)
	if err != nil {
		return nil, err
	}
	if err := try.Verify(ctx); err != nil {
		return nil, err
	}
	plan, err := planOf(ctx, try, &req)
	if err != nil {
		return nil, err
	}
	columns := try.Columns()
	before, remembers := start.State, try.Remembers()
	began := time.Now()
	run, err := try.Run(ctx, req.Due)
	if err != nil {
		return nil, err
	}
	took := time.Since(began)
	v := &view{req: &req, trial: try, run: run, columns: columns, start: start, remembers: remembers, subs: map[string][]ledger.Subscription{}}
	if v.lives, err = livesOf(&req, &start, try, run); err != nil {
		return nil, err
	}
	v.report = frame(&req, before, from, start.Findings)
	v.report.TookMS = took.Milliseconds()
	v.report.Plan = plan
	if err := v.fill(ctx, before); err != nil {
		return nil, err
	}
	return &Preview{Report: v.report, req: req, trial: try, run: run}, nil
}

// RefusedError says that a node would not run the rule because of the cost of its probe.
type RefusedError struct{ Err error }

// Error returns the reason, which begins with a code.
func (e *RefusedError) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *RefusedError) Unwrap() error { return e.Err }

// planOf asks for the cost of the probe. A preview does not run a probe that costs more than the rule allows.
func planOf(ctx context.Context, try *trial.Trial, req *Request) (*Plan, error) {
	plan, err := try.Cost(ctx, req.Due)
	switch {
	case err != nil && req.Rule.Probe.MaxCost > 0:
		return nil, &RefusedError{err}
	case err != nil || plan == nil:
		return nil, ctx.Err()
	}
	return &Plan{Cost: plan.Cost, Shape: plan.Shape, MaxCost: req.Rule.Probe.MaxCost}, nil
}

// view turns a run into a report.
type view struct {
	req     *Request
	trial   *trial.Trial
	run     *trial.Run
	columns []row.Column
	lives   *lifeTable
	start   trial.Start
	report  *Report
	// remembers tells whether an earlier run has seen the row. Nil means the rule has no look_back.
	remembers func(*row.Row) bool
	made      []ledger.NewNotice               // The notices of all passes, in order.
	known     map[string]bool                  // The ids of notices of events that the ledger has already.
	subs      map[string][]ledger.Subscription // Keyed by type.
}

// fill adds the results of the run to the report.
func (v *view) fill(ctx context.Context, before ledger.ScopeState) error {
	rep, run := v.report, &v.run.Run
	rep.Outcome, rep.Error = string(run.Outcome), run.Error
	rep.Counts = Counts{Rows: run.Rows, Matched: run.Matched, Errored: run.Errored, Pending: run.Pending, Firing: run.Firing}
	for _, c := range v.columns {
		rep.Columns = append(rep.Columns, Column{Name: c.Name, Kind: c.Kind.String(), DBType: c.DBType})
	}
	v.watermark(before)
	v.notes(before)
	for _, c := range v.run.Commits {
		v.made = append(v.made, c.Notices...)
	}
	rep.Counts.Notices = len(v.made)
	var err error
	if v.known, err = v.knownEvents(ctx); err != nil {
		return err
	}
	seen := map[string]bool{}
	if run.Outcome != ledger.OutcomeFailed {
		if seen, err = v.rows(); err != nil {
			return err
		}
	}
	v.absent(seen)
	if err := v.notices(ctx); err != nil {
		return err
	}
	return v.later(ctx)
}

// livesOf prepares the comparison of the findings before and after the run.
func livesOf(req *Request, start *trial.Start, try *trial.Trial, run *trial.Run) (*lifeTable, error) {
	sched, err := schedule.Parse(req.Rule.Schedule.Cron, req.Rule.Schedule.Timezone)
	if err != nil {
		return nil, fmt.Errorf("rule %s: %w", req.Rule.ID, err)
	}
	if len(run.Commits) == 0 {
		return nil, errors.New("preview: a run without a commit")
	}
	l := &lifeTable{
		rule: req.Rule, schedule: sched, due: req.Due, clock: run.Commits[len(run.Commits)-1].Scope.Clock,
		before: byKey(start.Findings), after: byKey(try.Findings()), carried: start.Notices, made: map[string]*notice.Notice{},
	}
	for _, c := range run.Commits {
		for _, n := range c.Notices {
			l.made[n.Notice.ID] = n.Notice
		}
	}
	return l, nil
}

func byKey(list []finding.State) map[string]finding.State {
	m := make(map[string]finding.State, len(list))
	for _, f := range list {
		m[f.Key] = f
	}
	return m
}

// values formats values for people. NULL becomes nil.
func values(list []row.Value) []*string {
	out := make([]*string, len(list))
	for i, v := range list {
		if !v.IsNull() {
			text := v.String()
			out[i] = &text
		}
	}
	return out
}

// absent lists the findings that no row of the run belongs to.
func (v *view) absent(seen map[string]bool) {
	keys := map[string]bool{}
	for key := range v.lives.before {
		keys[key] = !seen[key]
	}
	for key := range v.lives.after {
		keys[key] = !seen[key]
	}
	var list []string
	for key, missing := range keys {
		if missing {
			list = append(list, key)
		}
	}
	slices.Sort(list)
	for _, key := range list {
		if v.req.Limit > 0 && len(v.report.Findings) >= v.req.Limit {
			v.report.LeftOut.Findings++
			continue
		}
		v.report.Findings = append(v.report.Findings, Finding{Key: key, Life: v.lives.of(key)})
	}
}

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// ParseAt parses the due time of a preview: RFC 3339, a local time in the zone, or a duration from now such as -1h. An
// empty text means now. ParseAt drops fractions of a second.
func ParseAt(text, zone string, now time.Time) (time.Time, error) {
	if text == "" {
		return now.UTC().Truncate(time.Second), nil
	}
	if d, err := strictyaml.ParseDuration(text); err == nil {
		return now.Add(d).UTC().Truncate(time.Second), nil
	}
	if t, err := time.Parse(time.RFC3339, text); err == nil {
		return t.UTC().Truncate(time.Second), nil
	}
	location, err := time.LoadLocation(zone)
	if err != nil {
		return time.Time{}, fmt.Errorf("the timezone %q: %w", zone, err)
	}
	for _, layout := range []string{"2006-01-02T15:04:05", "2006-01-02T15:04", "2006-01-02 15:04:05", "2006-01-02 15:04", time.DateOnly} {
		if t, err := time.ParseInLocation(layout, text, location); err == nil {
			return t.UTC(), nil
		}
	}
	return time.Time{}, fmt.Errorf("%q is no time: write 2026-06-01T08:00:00+08:00, 2026-06-01 08:00 (in %s), or a duration before now such as -1h", text, zone)
}
