package api

import (
	"context"
	"encoding/xml"
	"log/slog"
	"slices"
	"time"

	"tallyman/internal/auth"
	"tallyman/internal/ledger"
)

// StatusReport is what GET /status answers: the node, what it reaches, and how its rules and deliveries are.
type StatusReport struct {
	XMLName    xml.Name        `json:"-" xml:"status"`
	Version    string          `json:"version" xml:"version" doc:"of the program"`
	Node       string          `json:"node" xml:"node" doc:"the name of the node that answers"`
	Started    time.Time       `json:"started" xml:"started"`
	Health     []Health        `json:"health" xml:"health>dependency" doc:"what the node depends on" nullable:"false"`
	Nodes      []NodeStatus    `json:"nodes" xml:"nodes>node" doc:"that run, the one that answers among them" nullable:"false"`
	Paused     *SwitchForm     `json:"paused,omitempty" xml:"paused,omitempty" doc:"every rule is stopped"`
	Rules      []RuleStatus    `json:"rules" xml:"rules>rule" doc:"every rule in every scope" nullable:"false"`
	Problems   []FileProblem   `json:"problems" xml:"problems>problem" doc:"of the rule files that are not in force" nullable:"false"`
	Deliveries []DeliveryCount `json:"deliveries" xml:"deliveries>delivery" doc:"by sink and state; each is counted up to 10000, which stands for so many or more" nullable:"false"`
}

// Health is how one thing is that the node depends on.
type Health struct {
	Part  string     `json:"part" xml:"part" enum:"ledger,redis,rules,sink,source,tls" doc:"what it is; rules: only where rule files are not in force, because that could not be recorded"`
	Name  string     `json:"name,omitempty" xml:"name,omitempty" doc:"the name of the source, of the push channel, or of the sink that uses Redis"`
	OK    bool       `json:"ok" xml:"ok"`
	Error string     `json:"error,omitempty" xml:"error,omitempty" doc:"why not"`
	Since *time.Time `json:"since,omitempty" xml:"since,omitempty" doc:"how long it has been so"`
}

// NodeStatus is a node of the cluster.
type NodeStatus struct {
	Name    string    `json:"name" xml:"name"`
	Version string    `json:"version" xml:"version" doc:"of its program"`
	Rules   string    `json:"rules" xml:"rules" doc:"a hash of the rules that it runs"`
	Differs bool      `json:"differs,omitempty" xml:"differs,omitempty" doc:"it runs another program or other rules than the node that answers"`
	Started time.Time `json:"started" xml:"started"`
	Seen    time.Time `json:"seen" xml:"seen" doc:"when it was last there; it says so every few seconds, and is gone after a minute"`
}

// RuleStatus is a rule in a scope.
type RuleStatus struct {
	ID       string      `json:"id" xml:"id"`
	Scope    string      `json:"scope" xml:"scope" doc:"empty where the rule has no scopes"`
	Title    string      `json:"title,omitempty" xml:"title,omitempty"`
	Source   string      `json:"source" xml:"source"`
	File     string      `json:"file" xml:"file"`
	Enabled  bool        `json:"enabled" xml:"enabled" doc:"it runs, by its file or by a switch"`
	Switch   *SwitchForm `json:"switch,omitempty" xml:"switch,omitempty" doc:"what an operator says instead of the file"`
	Stale    bool        `json:"stale,omitempty" xml:"stale,omitempty" doc:"its file is bad: this is the last good version"`
	Verified bool        `json:"verified" xml:"verified" doc:"its probe was prepared on the source; a rule that is not does not run"`
	Reason   string      `json:"reason,omitempty" xml:"reason,omitempty" doc:"why it is not verified"`
	NextDue  *time.Time  `json:"nextDue,omitempty" xml:"nextDue,omitempty"`
	LastRun  *RunStatus  `json:"lastRun,omitempty" xml:"lastRun,omitempty"`
	Warnings []string    `json:"warnings,omitempty" xml:"warnings>warning,omitempty" doc:"what does not keep it from running, each with its code" nullable:"false"`
	Shadow   bool        `json:"shadow,omitempty" xml:"shadow,omitempty" doc:"its file has it in shadow: it tells the inbox of shadow:<id> alone until it is promoted"`
	Promoted *time.Time  `json:"promoted,omitempty" xml:"promoted,omitempty" doc:"live since, although its file has it in shadow"`
	Recent   *Recent     `json:"recent,omitempty" xml:"recent,omitempty"`
	Pending  int         `json:"pending" xml:"pending" doc:"findings that wait for their time"`
	Firing   int         `json:"firing" xml:"firing" doc:"findings that were told"`
}

// Recent sums up the runs of a rule in a scope that the ledger keeps.
type Recent struct {
	Runs      int64   `json:"runs" xml:"runs" doc:"that the ledger keeps of it, 100 or so"`
	Rows      int64   `json:"rows" xml:"rows" doc:"that their probes returned"`
	Errored   int64   `json:"errored" xml:"errored" doc:"of those, the ones that could not be judged or told"`
	ErrorRate float64 `json:"errorRate" xml:"errorRate" doc:"errored / rows, from 0 to 1"`

	DurationsMS []int64 `json:"durationsMs" xml:"durationsMs>run" doc:"of the last 20 that were not skipped, the latest last" nullable:"false"`
	Outcomes    string  `json:"outcomes" xml:"outcomes" doc:"of the same runs, a letter each: o = ok, d = degraded, f = failed" example:"ooodf"`
}

// NewRecent is the sum as the report shows it; nil where there is none.
func NewRecent(j ledger.Judged) *Recent {
	if j.Runs == 0 {
		return nil
	}
	r := &Recent{
		Runs: j.Runs, Rows: j.Rows, Errored: j.Errored, ErrorRate: min(float64(j.Errored)/float64(max(j.Rows, 1)), 1), DurationsMS: make([]int64, len(j.Last)),
	}
	for i, run := range j.Last {
		r.DurationsMS[i] = run.Took.Milliseconds()
		r.Outcomes += string(run.Outcome[:min(1, len(run.Outcome))])
	}
	return r
}

// RunStatus is the execution of one firing.
type RunStatus struct {
	Due          time.Time `json:"due" xml:"due"`
	Started      time.Time `json:"started" xml:"started"`
	DurationMS   int64     `json:"durationMs" xml:"durationMs"`
	Node         string    `json:"node" xml:"node"`
	Outcome      string    `json:"outcome" xml:"outcome" enum:"ok,degraded,failed,skipped"`
	Rows         int       `json:"rows" xml:"rows" doc:"that the probe returned"`
	Matched      int       `json:"matched" xml:"matched" doc:"that met the condition and could be told"`
	Errored      int       `json:"errored" xml:"errored" doc:"that could not be judged or told"`
	Notices      int       `json:"notices" xml:"notices" doc:"that the run made"`
	Unsubscribed int       `json:"unsubscribed" xml:"unsubscribed" doc:"that nobody subscribes to"`
	Error        string    `json:"error,omitempty" xml:"error,omitempty"`
	Samples      []string  `json:"samples,omitempty" xml:"samples>sample,omitempty" doc:"of what degraded the run" nullable:"false"`
}

// FileProblem is a fault in a rule file.
type FileProblem struct {
	Code    string `json:"code" xml:"code"`
	File    string `json:"file" xml:"file"`
	Line    int    `json:"line" xml:"line" doc:"from 1; 0 means the file as a whole"`
	Col     int    `json:"col" xml:"col"`
	Message string `json:"message" xml:"message"`
	Hint    string `json:"hint,omitempty" xml:"hint,omitempty"`
	Rule    string `json:"rule,omitempty" xml:"rule,omitempty"`
}

// DeliveryCount is how many deliveries of a sink are in a state.
type DeliveryCount struct {
	Sink  string `json:"sink" xml:"sink"`
	State string `json:"state" xml:"state" enum:"pending,sent,failed,timed_out,canceled"`
	Count int64  `json:"count" xml:"count"`
}

// NewRunStatus is a run as the report shows it.
func NewRunStatus(r *ledger.Run) *RunStatus {
	return &RunStatus{
		Due: r.Due, Started: r.Started, DurationMS: r.Duration.Milliseconds(), Node: r.Node, Outcome: string(r.Outcome), Rows: r.Rows,
		Matched: r.Matched, Errored: r.Errored, Notices: r.Notices, Unsubscribed: r.Unsubscribed, Error: r.Error, Samples: r.Samples,
	}
}

type statusOutput struct{ Body StatusReport }

// status answers GET /status.
func (a *API) status(ctx context.Context, _ *struct{}) (*statusOutput, error) {
	report, err := a.deps.Status(ctx)
	if err != nil {
		a.log.LogAttrs(ctx, slog.LevelError, "the state cannot be reported", slog.Any("error", err))
		return nil, internalProblem()
	}
	if who := auth.From(ctx); !who.Everywhere() {
		report.Rules = slices.DeleteFunc(report.Rules, func(r RuleStatus) bool { return !concerns(who, r.Scope) })
		report.Problems = ownProblems(ctx, report.Problems, func(rule string) bool {
			return slices.ContainsFunc(report.Rules, func(r RuleStatus) bool { return r.ID == rule })
		})
		report.Health = ownHealth(report.Health)
	}
	report.Health = notNil(report.Health)
	report.Nodes = notNil(report.Nodes)
	report.Rules = notNil(report.Rules)
	report.Problems = notNil(report.Problems)
	report.Deliveries = notNil(report.Deliveries)
	for i := range report.Rules {
		ownRun(ctx, report.Rules[i].Scope, report.Rules[i].LastRun)
	}
	return &statusOutput{Body: report}, nil
}

// notNil makes JSON say [] and not null.
func notNil[T any](s []T) []T {
	if s == nil {
		return []T{}
	}
	return s
}
