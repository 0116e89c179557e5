package enginetest

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"tallyman/internal/delivery"
	"tallyman/internal/finding"
	"tallyman/internal/ledger"
	"tallyman/internal/notice"
	"tallyman/rules/catalog"
	"tallyman/rules/row"
)

// Ledger is a ledger in memory.
type Ledger struct {
	// Fail, when set, is asked before each method by its name; an error that it returns is the answer.
	Fail func(method string) error
	// TimeNow is what leases and expiry are judged by. Defaults to time.Now.
	TimeNow func() time.Time
	// Subscribers get every inbox delivery.
	Subscribers []string

	mu        sync.Mutex
	scopes    map[scopeID]*scope
	runs      []ledger.Run
	commits   map[firingID]lastCommit
	notices   map[string]*notice.Notice
	delivery  []*deliveryRow
	lanes     map[delivery.Lane]laneLock
	types     catalog.Catalog
	version   int64
	plans     map[scopeID]ledger.ProbePlan
	pruned    []time.Time
	forgotten map[string]bool
	switches  map[scopeID]ledger.Switch
	switched  int64 // how often
	nodes     map[string]ledger.Node
	dropped   []map[string]int
}

type scopeID struct{ rule, scope string }

type scope struct {
	state    finding.Scope
	known    time.Time
	done     time.Time // due time of the last firing that is done or was skipped
	mark     []row.Value
	findings map[string]finding.State
	rows     map[string]seenRow // by key of a finding
	running  *ledger.Claim      // nil while nothing runs; its lease may be over
	token    int64

	promoted   time.Time
	promotedBy string
}

// NewLedger returns an empty ledger with the types.
func NewLedger(types ...catalog.Type) *Ledger {
	l := &Ledger{
		Subscribers: []string{"role:keeper"},
		scopes:      map[scopeID]*scope{}, notices: map[string]*notice.Notice{}, lanes: map[delivery.Lane]laneLock{},
		plans: map[scopeID]ledger.ProbePlan{}, switches: map[scopeID]ledger.Switch{}, nodes: map[string]ledger.Node{}, commits: map[firingID]lastCommit{}, types: catalog.Catalog{}, version: 1,
	}
	for _, t := range types {
		l.types[t.Code] = t
	}
	return l
}

func (l *Ledger) now() time.Time {
	if l.TimeNow == nil {
		return time.Now()
	}
	return l.TimeNow()
}

// enter locks the ledger, after asking Fail.
func (l *Ledger) enter(ctx context.Context, method string) (leave func(), err error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if l.Fail != nil {
		if err := l.Fail(method); err != nil {
			return nil, err
		}
	}
	l.mu.Lock()
	return l.mu.Unlock, nil
}

// Register makes the rule and scope known.
func (l *Ledger) Register(ctx context.Context, rule, name string, now time.Time) (ledger.ScopeState, error) {
	leave, err := l.enter(ctx, "Register")
	if err != nil {
		return ledger.ScopeState{}, err
	}
	defer leave()
	id := scopeID{rule, name}
	if l.scopes[id] == nil {
		l.scopes[id] = &scope{known: now, findings: map[string]finding.State{}, rows: map[string]seenRow{}}
	}
	return l.scopes[id].snapshot(l.now()), nil
}

// snapshot is the state at a time.
func (s *scope) snapshot(now time.Time) ledger.ScopeState {
	state := ledger.ScopeState{
		Scope: s.state, Registered: s.known, Done: s.done, Watermark: slices.Clone(s.mark),
		Promoted: s.promoted, PromotedBy: s.promotedBy,
	}
	if s.running != nil && now.Before(s.running.LeaseUntil) {
		running := *s.running
		state.Running = &running
	}
	return state
}

// Claim takes the firing, or the one that was abandoned.
func (l *Ledger) Claim(ctx context.Context, rule, name string, due time.Time, node string, lease time.Duration) (ledger.Claim, error) {
	leave, err := l.enter(ctx, "Claim")
	if err != nil {
		return ledger.Claim{}, err
	}
	defer leave()
	s := l.scopes[scopeID{rule, name}]
	repeated := false
	switch {
	case s == nil:
		return ledger.Claim{}, ledger.ErrNotFound
	case s.running != nil && !l.now().Before(s.running.LeaseUntil):
		due, repeated = s.running.Due, true
	case !due.After(s.done):
		return ledger.Claim{}, ledger.ErrDone
	case s.running != nil:
		return ledger.Claim{}, ledger.ErrBusy
	}
	s.token++
	s.running = &ledger.Claim{
		Rule: rule, Scope: name, Due: due, Node: node, Token: s.token,
		LeaseUntil: l.now().Add(lease), Repeated: repeated,
	}
	return *s.running, nil
}

// inForce returns the scope whose claim c is.
func (l *Ledger) inForce(c ledger.Claim) (*scope, error) {
	s := l.scopes[scopeID{c.Rule, c.Scope}]
	if s == nil || s.running == nil || s.running.Token != c.Token {
		return nil, ledger.ErrFenced
	}
	return s, nil
}

// Renew extends the lease.
func (l *Ledger) Renew(ctx context.Context, c ledger.Claim, lease time.Duration) error {
	leave, err := l.enter(ctx, "Renew")
	if err != nil {
		return err
	}
	defer leave()
	s, err := l.inForce(c)
	if err != nil {
		return err
	}
	s.running.LeaseUntil = l.now().Add(lease)
	return nil
}

// Release ends the lease at once.
func (l *Ledger) Release(ctx context.Context, c ledger.Claim) error {
	leave, err := l.enter(ctx, "Release")
	if err != nil {
		return err
	}
	defer leave()
	s, err := l.inForce(c)
	if err != nil {
		return err
	}
	s.token++
	s.running.Token, s.running.LeaseUntil = s.token, time.Time{}
	return nil
}

// Abandoned returns the firings whose lease is over.
func (l *Ledger) Abandoned(ctx context.Context) ([]ledger.Claim, error) {
	leave, err := l.enter(ctx, "Abandoned")
	if err != nil {
		return nil, err
	}
	defer leave()
	var left []ledger.Claim
	for _, s := range l.scopes {
		if s.running != nil && !l.now().Before(s.running.LeaseUntil) {
			claim := *s.running
			claim.Repeated = true
			left = append(left, claim)
		}
	}
	return left, nil
}

// Skip records that the firing did not run.
func (l *Ledger) Skip(ctx context.Context, rule, name string, due time.Time, node, reason string) error {
	leave, err := l.enter(ctx, "Skip")
	if err != nil {
		return err
	}
	defer leave()
	_, err = l.leaveOut(rule, name, due, node, reason)
	return err
}

// Thaw is Skip for what was left out while the rule was disabled.
func (l *Ledger) Thaw(ctx context.Context, rule, name string, due time.Time, node, reason string) error {
	leave, err := l.enter(ctx, "Thaw")
	if err != nil {
		return err
	}
	defer leave()
	if left, err := l.leaveOut(rule, name, due, node, reason); err != nil || !left {
		return err
	}
	s := l.scopes[scopeID{rule, name}]
	for key, f := range s.findings {
		if frozen := due.Sub(s.state.Since()); !f.AbsentSince.IsZero() && frozen > 0 {
			f.AbsentSince = f.AbsentSince.Add(frozen)
			s.findings[key] = f
		}
	}
	s.state.Thawed = due
	return nil
}

// leaveOut records the firing as skipped, and tells whether it was neither done nor running.
func (l *Ledger) leaveOut(rule, name string, due time.Time, node, reason string) (bool, error) {
	s := l.scopes[scopeID{rule, name}]
	if s == nil {
		return false, ledger.ErrNotFound
	}
	if !due.After(s.done) || s.running != nil && s.running.Due.Equal(due) {
		return false, nil
	}
	s.done = due
	l.runs = append(l.runs, ledger.Run{Rule: rule, Scope: name, Due: due, Node: node, Started: l.now(), Outcome: ledger.OutcomeSkipped, Error: reason})
	return true, nil
}

// Scope returns the state of the rule in the scope.
func (l *Ledger) Scope(ctx context.Context, rule, name string) (ledger.ScopeState, error) {
	leave, err := l.enter(ctx, "Scope")
	if err != nil {
		return ledger.ScopeState{}, err
	}
	defer leave()
	s := l.scopes[scopeID{rule, name}]
	if s == nil {
		return ledger.ScopeState{}, ledger.ErrNotFound
	}
	return s.snapshot(l.now()), nil
}

// Findings returns the open findings.
func (l *Ledger) Findings(ctx context.Context, rule, name string) ([]finding.State, error) {
	leave, err := l.enter(ctx, "Findings")
	if err != nil {
		return nil, err
	}
	defer leave()
	s := l.scopes[scopeID{rule, name}]
	if s == nil {
		return nil, nil
	}
	return slices.Collect(maps.Values(s.findings)), nil
}

// Notices returns those of the ids that it has.
func (l *Ledger) Notices(ctx context.Context, ids []string) (map[string]*notice.Notice, error) {
	leave, err := l.enter(ctx, "Notices")
	if err != nil {
		return nil, err
	}
	defer leave()
	found := map[string]*notice.Notice{}
	for _, id := range ids {
		if n := l.notices[id]; n != nil {
			found[id] = n
		}
	}
	return found, nil
}

// Drop forgets a rule and scope, as Forget does when a node does not know them.
func (l *Ledger) Drop(rule, name string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.scopes, scopeID{rule, name})
}

// Forget forgets all rules and scopes but the known.
func (l *Ledger) Forget(ctx context.Context, known map[string]bool) (int64, error) {
	leave, err := l.enter(ctx, "Forget")
	if err != nil {
		return 0, err
	}
	defer leave()
	l.forgotten = known
	before := len(l.scopes)
	maps.DeleteFunc(l.scopes, func(id scopeID, _ *scope) bool {
		gone := !known[ledger.ScopeKey(id.rule, id.scope)]
		if gone {
			delete(l.plans, id)
		}
		return gone
	})
	return int64(before - len(l.scopes)), nil
}
