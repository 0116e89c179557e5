package rows

import (
	"time"

	"tallyman/internal/finding"
	"tallyman/internal/ledger"
)

// Scope is a row of rule_scopes.
type Scope struct {
	Rule, Name                                     string
	Registered, LastDue, LastOKDue, Clock, DoneDue int64
	Watermark                                      string
	Token, RunningDue                              int64
	RunningNode                                    string
	LeaseUntil                                     int64
	Repeated                                       bool
	Alive                                          bool // the claim is in force
	Promoted                                       int64
	PromotedBy                                     string
	Thawed                                         int64
}

// Columns returns pointers to the fields in the order of the columns that the query of a scope names.
func (s *Scope) Columns() []any {
	return []any{
		&s.Registered, &s.LastDue, &s.LastOKDue, &s.Clock, &s.DoneDue, &s.Watermark, &s.Token, &s.RunningDue, &s.RunningNode,
		&s.LeaseUntil, &s.Repeated, &s.Alive, &s.Promoted, &s.PromotedBy, &s.Thawed,
	}
}

// State is the row as the ledger's callers see it.
func (s *Scope) State() (ledger.ScopeState, error) {
	watermark, err := ParseWatermark(s.Watermark)
	if err != nil {
		return ledger.ScopeState{}, err
	}
	st := ledger.ScopeState{
		Scope:      finding.Scope{LastDue: Time(s.LastDue), LastOKDue: Time(s.LastOKDue), Clock: Span(s.Clock), Thawed: Time(s.Thawed)},
		Registered: Time(s.Registered), Done: Time(s.DoneDue), Watermark: watermark,
		Promoted: Time(s.Promoted), PromotedBy: s.PromotedBy,
	}
	if s.Alive {
		st.Running = &ledger.Claim{
			Rule: s.Rule, Scope: s.Name, Due: Time(s.RunningDue), Node: s.RunningNode, Token: s.Token,
			LeaseUntil: Time(s.LeaseUntil), Repeated: s.Repeated,
		}
	}
	return st, nil
}

// Finding is a row of findings.
type Finding struct {
	Key          string
	Phase        int16
	Priority     int16
	Ordinal      int32
	Episode      int64
	SeenClock    int64
	AbsentSince  int64
	FiringSince  int64
	LastNotified int64
	NoticeID     string
	Group        string
	Silenced     string
	Warehouse    string // of the notice; written, and counted by the database
}

// Columns returns pointers to the fields in the order of the columns that the queries of findings name.
func (f *Finding) Columns() []any {
	return []any{
		&f.Key, &f.Phase, &f.Episode, &f.SeenClock, &f.AbsentSince, &f.FiringSince, &f.Priority, &f.LastNotified, &f.Ordinal,
		&f.NoticeID, &f.Group, &f.Silenced,
	}
}

// Warehouses are those of the notices that the run makes, by id: the findings that name them are there.
func Warehouses(run *ledger.Commit) map[string]string {
	if len(run.Findings) == 0 {
		return nil
	}
	out := make(map[string]string, len(run.Notices))
	for i := range run.Notices {
		out[run.Notices[i].Notice.ID] = run.Notices[i].Notice.Warehouse
	}
	return out
}

// NewFinding makes the row of a finding.
func NewFinding(s *finding.State) Finding {
	return Finding{
		Key: s.Key, Phase: int16(s.Phase), Priority: int16(s.Priority), Ordinal: int32(s.Ordinal), //nolint:gosec // 1 … 5; a reminder a minute for 4000 years
		Episode: Micros(s.Episode), SeenClock: s.SeenClock.Microseconds(), AbsentSince: Micros(s.AbsentSince),
		FiringSince: Micros(s.FiringSince), LastNotified: Micros(s.LastNotified), NoticeID: s.NoticeID,
		Group: s.Group, Silenced: s.Silenced,
	}
}

// State is the row as the engine sees it.
func (f *Finding) State() finding.State {
	return finding.State{
		Key: f.Key, Phase: finding.Phase(f.Phase), Priority: int(f.Priority), Ordinal: int(f.Ordinal), //nolint:gosec // as NewFinding wrote it
		Episode: Time(f.Episode), SeenClock: Span(f.SeenClock), AbsentSince: Time(f.AbsentSince),
		FiringSince: Time(f.FiringSince), LastNotified: Time(f.LastNotified), NoticeID: f.NoticeID,
		Group: f.Group, Silenced: f.Silenced,
	}
}

// Run is a row of firings.
type Run struct {
	Rule, Scope                                                    string
	Due                                                            int64
	Node                                                           string
	Started, Duration                                              int64
	Outcome                                                        string
	Rows, Matched, Errored, Pending, Firing, Notices, Unsubscribed int
	Error, Samples                                                 string
}

// Columns returns pointers to the fields in the order of the columns that the queries of runs name.
func (r *Run) Columns() []any {
	return []any{
		&r.Rule, &r.Scope, &r.Due, &r.Node, &r.Started, &r.Duration, &r.Outcome, &r.Rows, &r.Matched, &r.Errored,
		&r.Pending, &r.Firing, &r.Notices, &r.Unsubscribed, &r.Error, &r.Samples,
	}
}

// Run is the row as readers see it.
func (r *Run) Run() (ledger.Run, error) {
	samples, err := ParseTexts(r.Samples)
	return ledger.Run{
		Rule: r.Rule, Scope: r.Scope, Due: Time(r.Due), Node: r.Node, Started: Time(r.Started), Duration: Span(r.Duration),
		Outcome: ledger.Outcome(r.Outcome), Rows: r.Rows, Matched: r.Matched, Errored: r.Errored, Pending: r.Pending,
		Firing: r.Firing, Notices: r.Notices, Unsubscribed: r.Unsubscribed, Error: r.Error, Samples: samples,
	}, err
}

// RunArgs returns the columns that the query record-run takes: what the run says, under the claim, with the
// number of deliveries that had nobody to go to.
func RunArgs(c ledger.Claim, r *ledger.Run, answer string, unsubscribed int) []any {
	return []any{
		c.Rule, c.Scope, Micros(c.Due), c.Token, answer, c.Node, Micros(r.Started), r.Duration.Microseconds(),
		string(r.Outcome), r.Rows, r.Matched, r.Errored, r.Pending, r.Firing, r.Notices, unsubscribed, r.Error,
		Texts(r.Samples),
	}
}

// Lease is the column form of a lease of that length from now.
func Lease(now time.Time, d time.Duration) int64 { return now.Add(d).UnixMicro() }
