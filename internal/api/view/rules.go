package view

import (
	"time"

	"tallyman/engine"
	"tallyman/internal/ledger"
	"tallyman/internal/wire"
	"tallyman/rules/problem"
)

// NewSwitchForm converts a switch; it returns nil for nil.
func NewSwitchForm(s *ledger.Switch) *wire.SwitchForm {
	if s == nil {
		return nil
	}
	f := &wire.SwitchForm{Rule: s.Rule, Scope: s.Scope, State: "disabled", Reason: s.Reason, By: s.By, At: s.At.UTC(), Until: wire.Moment(s.Until)}
	if s.State == ledger.SwitchOn {
		f.State = "enabled"
	}
	return f
}

// NewRunStatus converts a run.
func NewRunStatus(r *ledger.Run) *wire.RunStatus {
	return &wire.RunStatus{
		Due: r.Due, Started: r.Started, DurationMS: r.Duration.Milliseconds(), Node: r.Node, Outcome: string(r.Outcome), Rows: r.Rows,
		Matched: r.Matched, Errored: r.Errored, Notices: r.Notices, Unsubscribed: r.Unsubscribed, Strays: r.Strays, Error: r.Error, Samples: r.Samples,
	}
}

// NewRecent converts the sum of recent runs; it returns nil if there are none.
func NewRecent(j ledger.RunSum) *wire.Recent {
	if j.Runs == 0 {
		return nil
	}
	r := &wire.Recent{
		Runs: j.Runs, Rows: j.Rows, Errored: j.Errored, ErrorRate: min(float64(j.Errored)/float64(max(j.Rows, 1)), 1), DurationsMS: make([]int64, len(j.Last)),
		Notices: j.Notices, First: j.First.UTC(),
	}
	for i, run := range j.Last {
		r.DurationsMS[i] = run.Took.Milliseconds()
		r.Outcomes += string(run.Outcome[:min(1, len(run.Outcome))])
	}
	return r
}

// NewRuleRunForm converts a run of a rule in a scope.
func NewRuleRunForm(r *ledger.Run) wire.RuleRunForm {
	return wire.RuleRunForm{Scope: r.Scope, RunStatus: *NewRunStatus(r), Pending: r.Pending, Firing: r.Firing}
}

// HealthOf returns the health of a rule in a scope, as in wire.ScopeForm.
func HealthOf(s *engine.RuleStatus) string {
	switch {
	case !s.Enabled:
		return "disabled"
	case !s.Verified:
		return "unverified"
	case s.Late:
		return "late"
	case s.LastRun == nil:
		return "waiting"
	}
	switch s.LastRun.Outcome {
	case ledger.OutcomeFailed:
		return "failing"
	case ledger.OutcomeDegraded:
		return "degraded"
	case ledger.OutcomeOK, ledger.OutcomeSkipped:
	}
	return "ok"
}

// Seconds converts a duration to seconds, to the millisecond.
func Seconds(d time.Duration) float64 { return d.Round(time.Millisecond).Seconds() }

// RuleFiles is the state of the rule files on a node.
type RuleFiles struct {
	Problems []wire.FileProblem
	Since    time.Time       // Since when there are problems; zero = there are none.
	Stale    map[string]bool // Ids of rules that run in their last good version, because their file is bad.
	Version  string
}

// FileProblems converts the problems of rule files.
func FileProblems(problems problem.List) []wire.FileProblem {
	list := []wire.FileProblem{}
	for _, p := range problems {
		list = append(list, wire.FileProblem{
			Code: p.Code, File: p.File, Line: p.Line, Col: p.Col, Message: p.Message, Hint: p.Hint, Rule: p.Rule,
		})
	}
	return list
}
