package enginetest

import (
	"context"
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
	*state
	firingStore
	catalogueStore
	deliveryStore
	historyStore
	operationStore
	sessionStore
}

// The stores of ledger.Ledger that the engine needs. Each has methods for tests as well.
type (
	firingStore    struct{ *state }
	catalogueStore struct{ *state }
	deliveryStore  struct{ *state }
	historyStore   struct{ *state }
	operationStore struct{ *state }
	sessionStore   struct{ *state }
)

// state is the data that the stores share.
type state struct {
	// Fail, when set, is called with the name of each method before the method runs. An error of Fail is the answer.
	Fail func(method string) error
	// TimeNow is the clock of leases and expiry. Default: time.Now.
	TimeNow func() time.Time
	// Subscribers are the recipients of each delivery to the inbox or a push channel whose target names no recipients.
	Subscribers []string

	mu       sync.Mutex
	scopes   map[scopeID]*scope
	runs     []ledger.Run
	commits  map[firingID]lastCommit
	notices  map[string]*notice.Notice
	delivery []*deliveryRow
	lanes    map[delivery.Lane]laneLock
	types    catalog.Catalog
	version  int64
	plans    map[scopeID]ledger.ProbePlan
	pruned   []time.Time
	known    map[string]bool
	switches map[scopeID]ledger.Switch
	switched int64 // The number of changes of switches.
	sessions map[string]*sessionRow
	dropped  []map[string]int
}

type scopeID struct{ rule, scope string }

type scope struct {
	state    finding.Scope
	known    time.Time
	term     int64     // The clock term of done.
	done     time.Time // The due time of the last firing that is done or skipped.
	unwell   time.Time // The due time of the first run of the current series of degraded or failed runs.
	mark     []row.Value
	initial  string
	memory   ledger.LookBack
	back     []ledger.Target
	findings map[string]finding.State
	rows     map[string]seenRow // Keyed by the key of the finding.
	running  *ledger.Claim      // Nil while no firing is running. Its lease may have ended.
	token    int64
	node     string // The node that had the claim with that token. Empty means none, or the claim was given back.

	promoted   time.Time
	promotedBy string
}

// NewLedger returns an empty ledger with the types.
func NewLedger(types ...catalog.Type) *Ledger {
	s := &state{
		Subscribers: []string{"role:keeper"},
		scopes:      map[scopeID]*scope{}, notices: map[string]*notice.Notice{}, lanes: map[delivery.Lane]laneLock{},
		plans: map[scopeID]ledger.ProbePlan{}, switches: map[scopeID]ledger.Switch{}, sessions: map[string]*sessionRow{},
		commits: map[firingID]lastCommit{}, types: catalog.Catalog{}, version: 1,
	}
	for _, t := range types {
		s.types[t.Code] = t
	}
	return &Ledger{s, firingStore{s}, catalogueStore{s}, deliveryStore{s}, historyStore{s}, operationStore{s}, sessionStore{s}}
}

func (l *state) now() time.Time {
	if l.TimeNow == nil {
		return time.Now()
	}
	return l.TimeNow()
}

// enter calls Fail and locks the ledger.
func (l *state) enter(ctx context.Context, method string) (leave func(), err error) {
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
func (l *firingStore) Register(ctx context.Context, rule, name string, term int64, now time.Time) (ledger.ScopeState, error) {
	leave, err := l.enter(ctx, "Register")
	if err != nil {
		return ledger.ScopeState{}, err
	}
	defer leave()
	id := scopeID{rule, name}
	if l.scopes[id] == nil {
		l.scopes[id] = &scope{term: term, known: now, findings: map[string]finding.State{}, rows: map[string]seenRow{}}
	}
	return l.scopes[id].snapshot(l.now()), nil
}

// snapshot returns the state of the scope.
func (s *scope) snapshot(now time.Time) ledger.ScopeState {
	state := ledger.ScopeState{ // Scope.Term is the clock term of Done.
		Scope: s.state, Registered: s.known, Done: s.done, Watermark: slices.Clone(s.mark), Initial: s.initial,
		Promoted: s.promoted, PromotedBy: s.promotedBy,
	}
	state.Term = s.term
	if s.running != nil && now.Before(s.running.LeaseUntil) {
		running := *s.running
		state.Running = &running
	}
	return state
}

// Claim claims the firing, or an abandoned one. As on PostgreSQL, the claim of a firing that no node has started before
// carries the state of the scope.
func (l *firingStore) Claim(ctx context.Context, rule, name string, term int64, due time.Time, node string, lease time.Duration) (ledger.Claim, error) {
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
		term, due, repeated = s.running.Term, s.running.Due, true
	case s.isDone(term, due):
		return ledger.Claim{}, ledger.ErrDone
	case s.running != nil:
		return ledger.Claim{}, ledger.ErrBusy
	}
	before := int64(0)
	if !repeated && s.node == node {
		before = s.token
	}
	var state *ledger.ScopeState
	if !repeated {
		known := s.snapshot(l.now())
		state = &known
	}
	s.token++
	s.node = node
	s.running = &ledger.Claim{
		Rule: rule, Scope: name, Term: term, Due: due, Node: node, Token: s.token,
		LeaseUntil: l.now().Add(lease), Repeated: repeated,
	}
	claim := *s.running
	claim.Before, claim.State = before, state
	return claim, nil
}

// isDone tells whether the firing is done, or lies before the last firing that is done.
func (s *scope) isDone(term int64, due time.Time) bool {
	return term < s.term || term == s.term && !due.After(s.done)
}

// inForce returns the scope of the claim, if the claim is in force.
func (l *firingStore) inForce(c ledger.Claim) (*scope, error) {
	s := l.scopes[scopeID{c.Rule, c.Scope}]
	if s == nil || s.running == nil || s.running.Token != c.Token {
		return nil, ledger.ErrFenced
	}
	return s, nil
}

// Renew extends the lease.
func (l *firingStore) Renew(ctx context.Context, c ledger.Claim, lease time.Duration) error {
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

// Release gives the firing back: its lease ends at once.
func (l *firingStore) Release(ctx context.Context, c ledger.Claim) error {
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
	s.node = ""
	s.running.Token, s.running.LeaseUntil = s.token, time.Time{}
	return nil
}

// Abandoned returns the unfinished firings whose leases have ended.
func (l *firingStore) Abandoned(ctx context.Context) ([]ledger.Claim, error) {
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
func (l *firingStore) Skip(ctx context.Context, rule, name string, term int64, due time.Time, node, reason string) (bool, error) {
	leave, err := l.enter(ctx, "Skip")
	if err != nil {
		return false, err
	}
	defer leave()
	return l.leaveOut(rule, name, term, due, node, reason)
}

// Thaw is Skip for firings that were due while the rule was disabled.
func (l *firingStore) Thaw(ctx context.Context, rule, name string, term int64, due time.Time, node, reason string) error {
	leave, err := l.enter(ctx, "Thaw")
	if err != nil {
		return err
	}
	defer leave()
	if left, err := l.leaveOut(rule, name, term, due, node, reason); err != nil || !left {
		return err
	}
	l.scopes[scopeID{rule, name}].state.Thawed = due
	return nil
}

// leaveOut records the firing as skipped, and tells whether it was neither done nor running.
func (l *firingStore) leaveOut(rule, name string, term int64, due time.Time, node, reason string) (bool, error) {
	s := l.scopes[scopeID{rule, name}]
	if s == nil {
		return false, ledger.ErrNotFound
	}
	if s.isDone(term, due) || s.running != nil && s.running.Term == term && s.running.Due.Equal(due) {
		return false, nil
	}
	s.term, s.done = term, due
	l.runs = append(l.runs, ledger.Run{Rule: rule, Scope: name, Term: term, Due: due, Node: node, Started: l.now(), Outcome: ledger.OutcomeSkipped, Error: reason})
	return true, nil
}

// Scope returns the state of the rule in the scope.
func (l *firingStore) Scope(ctx context.Context, rule, name string) (ledger.ScopeState, error) {
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

// Notices returns the notices with the ids. Notices leaves out ids that the ledger does not have.
func (l *firingStore) Notices(ctx context.Context, ids []string) (map[string]*notice.Notice, error) {
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

// LookBack returns the memory of seen rows of the rule.
func (l *firingStore) LookBack(ctx context.Context, rule, name string) (ledger.LookBack, error) {
	leave, err := l.enter(ctx, "LookBack")
	if err != nil {
		return ledger.LookBack{}, err
	}
	defer leave()
	if s := l.scopes[scopeID{rule, name}]; s != nil {
		return s.memory, nil
	}
	return ledger.LookBack{}, nil
}

// Drop deletes a rule and scope, as Forget does.
func (l *firingStore) Drop(rule, name string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.scopes, scopeID{rule, name})
}

// Removed returns the rules and scopes that are not in known.
func (l *firingStore) Removed(ctx context.Context, known map[string]bool) ([]ledger.RemovedScope, error) {
	leave, err := l.enter(ctx, "Removed")
	if err != nil {
		return nil, err
	}
	defer leave()
	l.known = known
	var removed []ledger.RemovedScope
	for id, s := range l.scopes {
		if !known[ledger.ScopeKey(id.rule, id.scope)] {
			removed = append(removed, ledger.RemovedScope{Rule: id.rule, Scope: id.scope, LastDue: s.state.LastDue, Back: s.back})
		}
	}
	return removed, nil
}

// Forget closes a portion of a removed rule's findings.
func (l *firingStore) Forget(ctx context.Context, p *ledger.ForgetPortion) (ledger.CommitResult, error) {
	leave, err := l.enter(ctx, "Forget")
	if err != nil {
		return ledger.CommitResult{}, err
	}
	defer leave()
	id := scopeID{p.Rule, p.Scope}
	s := l.scopes[id]
	if s == nil || !s.state.LastDue.Equal(p.LastDue) || !s.has(p.Keys) {
		return ledger.CommitResult{}, ledger.ErrFenced
	}
	s.token++
	if s.node = ""; s.running != nil {
		s.running.LeaseUntil = time.Time{}
	}
	for _, key := range p.Keys {
		delete(s.findings, key)
	}
	var committed ledger.CommitResult
	l.over(p.Over)
	for _, n := range p.Notices {
		l.add(n, &committed)
	}
	if p.Last {
		delete(l.scopes, id)
		delete(l.plans, id)
	}
	return committed, nil
}

// has tells whether each key has a finding.
func (s *scope) has(keys []string) bool {
	for _, key := range keys {
		if _, ok := s.findings[key]; !ok {
			return false
		}
	}
	return true
}
