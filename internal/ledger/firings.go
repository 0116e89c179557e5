package ledger

import (
	"context"
	"time"

	"tallyman/internal/delivery"
	"tallyman/internal/finding"
	"tallyman/internal/notice"
	"tallyman/rules/row"
)

// Firings runs each firing of a rule once in the whole cluster.
type Firings interface {
	// Register makes the rule and scope known to the ledger and returns their state. Firings are counted from now on,
	// in that clock term: the first due time is after now. Register changes nothing where the ledger knows them
	// already.
	Register(ctx context.Context, rule, scope string, term int64, now time.Time) (ScopeState, error)
	// Claim takes the firing for node. A clock term and a due time name a firing. Every firing of an earlier term
	// lies before all firings of a later one.
	//
	// A firing is abandoned when its lease ran out before its commit. Where the rule and scope have an abandoned
	// firing, Claim takes that one instead, whatever due says, and sets Claim.Repeated. The caller runs it first. If
	// Claim.Due was not the due time that the caller asked for, the caller then claims again.
	//
	// ErrDone; ErrBusy; ErrNotFound before Register.
	Claim(ctx context.Context, rule, scope string, term int64, due time.Time, node string, lease time.Duration) (Claim, error)
	// Renew extends the lease. ErrFenced.
	Renew(ctx context.Context, c Claim, lease time.Duration) error
	// Release gives an unfinished firing back, so that any node may claim it at once. The claim is void afterwards.
	// ErrFenced.
	Release(ctx context.Context, c Claim) error
	// Abandoned returns the unfinished firings that no node holds, because their leases ran out or their nodes gave
	// them back. Nodes look for these often, so that a rule that is due once a day need not wait a day for the rest
	// of its firing. Claim.Node names the node that had the firing last.
	Abandoned(ctx context.Context) ([]Claim, error)
	// Skip records that the firing did not run because the firing before it was still running. reason is kept with
	// the record. Where the firing is running, is done, or lies before the last one, Skip does nothing, and recorded
	// is false. ErrNotFound before Register.
	Skip(ctx context.Context, rule, scope string, term int64, due time.Time, node, reason string) (recorded bool, err error)
	// Thaw is Skip for the last firing that fell into the time when the rule was disabled. The observed clock of the
	// scope continues from this firing.
	Thaw(ctx context.Context, rule, scope string, term int64, due time.Time, node, reason string) error
	// Commit writes a run in one transaction, fenced by the claim's token. It writes the run, the changed findings,
	// the scope's state and watermark, the notices, and one delivery for each notice and sink. An inbox delivery
	// takes its recipients from the subscriptions as this transaction sees them. A notice without recipients gets no
	// inbox delivery. ErrFenced changes nothing.
	//
	// A broken connection leaves open whether the transaction was committed. The caller then repeats the same Commit
	// with the same claim. Commit is idempotent: a repeated call changes nothing and returns the first result.
	Commit(ctx context.Context, c Claim, run *Commit) (CommitResult, error)
	Removals
	Rewinds
	ScopeReader
	OpenReader
}

// OpenReader reads open findings for a run that keeps only their outlines in memory.
type OpenReader interface {
	// Open returns the outlines of all open findings. It also returns the complete states of the findings no_data and
	// on_error, which no row makes.
	Open(ctx context.Context, rule, scope string) (*finding.Open, error)
	// OpenFindings returns the open findings whose keys have these hashes, in no order.
	OpenFindings(ctx context.Context, rule, scope string, keys []finding.Hash) ([]finding.State, error)
	// Carriers counts the open findings that carry each of the notices. It reads all findings of the rule in the
	// scope.
	Carriers(ctx context.Context, rule, scope string, notices []string) (map[string]int, error)
}

// ScopeReader reads the state that a run begins with.
type ScopeReader interface {
	// Scope returns the state of the rule in the scope. ErrNotFound before Register.
	Scope(ctx context.Context, rule, scope string) (ScopeState, error)
	FindingReader
	LookBacks
	// Notices returns the notices with these ids. An id that the ledger no longer has is left out.
	Notices(ctx context.Context, ids []string) (map[string]*notice.Notice, error)
}

// FindingReader reads open findings.
type FindingReader interface {
	// Findings returns all open findings, in no order.
	Findings(ctx context.Context, rule, scope string) ([]finding.State, error)
}

// ScopeState is what the ledger knows of a rule in a scope.
type ScopeState struct {
	finding.Scope
	Registered time.Time
	Done       time.Time   // due time of the last firing that is done or was skipped; zero before the first firing
	Watermark  []row.Value // nil before the first event run
	// The rule file's `initial` at the time when the watermark began or was moved; "" without a watermark.
	Initial    string
	Running    *Claim    // the claim in force; nil = no node runs a firing
	Promoted   time.Time // when an operator promoted the rule in this scope; zero = nobody did
	PromotedBy string
}

// IsDone tells whether the firing is done, was skipped, or lies before the last firing that was done or skipped.
func (s *ScopeState) IsDone(term int64, due time.Time) bool {
	return term < s.Term || term == s.Term && !due.After(s.Done)
}

// Claim is the right to run one firing. Token fences it: each claim of the rule and scope has a higher token than the
// one before. Repeated means that a node claimed the firing earlier and did not finish it.
type Claim struct {
	Rule, Scope string
	Term        int64 // of the clock; see Term
	Due         time.Time
	Node        string
	Token       int64
	LeaseUntil  time.Time
	Repeated    bool

	// State is the state of the rule in the scope at the time of the claim. nil = the caller reads it by Scope. After
	// the commit of a pass that another pass follows, State is out of date.
	State *ScopeState
	// Before is the token that the rule and scope had before this claim. 0 = another node had the previous claim, or
	// the ledger does not say. The node may use the findings that it has in memory only if they come from a run with
	// this token. Otherwise the node reads the findings again. A change of the findings outside of runs raises the
	// token.
	Before int64
}

// Outcome is how a run ended.
type Outcome string

// The outcomes.
const (
	OutcomeOK       Outcome = "ok"
	OutcomeDegraded Outcome = "degraded" // some rows could not be judged, keys repeated, or rows belong to no scope
	OutcomeFailed   Outcome = "failed"
	OutcomeSkipped  Outcome = "skipped" // the firing before was still running
)

// Run is the record of one firing's execution.
type Run struct {
	Rule, Scope  string
	Term         int64 // of the clock; see Term
	Due          time.Time
	Node         string
	Started      time.Time
	Duration     time.Duration
	Outcome      Outcome
	Rows         int // rows that the probe returned
	Matched      int // rows that met the condition; with per: result all of them, or none
	Errored      int // rows that could not be judged or made into a notice; Matched does not count these
	Pending      int // findings that are pending after the run
	Firing       int // findings that are firing after the run
	Notices      int // notices that the run made
	Unsubscribed int // deliveries to inboxes and by mail that were not made, because nobody has subscribed
	// With split_by: rows of the scan that name no scope of the rule. Rows does not count these. One scan serves
	// several scopes; only one of these scopes counts the strays.
	Strays  int
	Error   string   // code and text of the error; "" unless the run failed
	Samples []string // examples of what degraded the run, at most 5
}

// Commit is what one run changes.
type Commit struct {
	Run       Run
	Scope     finding.Scope
	Watermark []row.Value     // nil = unchanged
	Initial   string          // the rule file's `initial`, where the watermark begins with this run; "" = unchanged
	LookBack  *LookBackChange // nil = unchanged
	// Again is true when an event run stopped at max_rows. The firing is then not done: its watermark has moved on,
	// and the claim stays in force for the rest of the rows. Run counts only this commit's share; the ledger adds up
	// the shares of all commits of the firing.
	Again    bool
	Findings []FindingChange
	Notices  []NewNotice
	// Over names the firing notices whose findings are over. The commit cancels the waiting deliveries with `unless:
	// resolved` of those findings. These include deliveries of earlier reminders.
	Over []string
	// Back is where resolutions of the rule's notices go if the rule is removed from the files. Each commit replaces
	// the value of the one before. nil = no resolution is sent when the rule is removed.
	Back []Target
	// Silenced counts by silence id the rows of mode event that the silence dropped.
	Silenced map[string]int
}

// IsQuiet tells whether the run changed nothing. The ledger then writes only the run's record and how far the scope
// is.
func (c *Commit) IsQuiet() bool {
	r := &c.Run
	return r.Outcome == OutcomeOK && r.Errored+r.Notices+r.Unsubscribed == 0 && !c.Again && c.LookBack == nil && c.Initial == "" &&
		len(c.Watermark)+len(c.Findings)+len(c.Notices)+len(c.Over)+len(c.Silenced) == 0 && c.Scope.LastDue.Equal(r.Due)
}

// FindingChange is a finding after the run.
type FindingChange struct {
	finding.State
	Op  Op
	Row []byte // JSON of the row that made the finding, kept for History; nil = the row that the ledger has stays
}

// Op is what happens to a finding's record. Inserting a record that exists, or changing one that does not, fails the
// commit: the run then started from a state that the ledger does not have.
type Op uint8

// The operations.
const (
	Insert Op = iota + 1
	Update
	Delete
)

// NewNotice is a notice and the sinks that it goes to. If the ledger already has a notice with this id, the commit
// writes neither this notice nor its deliveries.
type NewNotice struct {
	Notice *notice.Notice
	Sinks  []Target
	// After is the id of the firing notice that this notice resolves, or "". A resolution goes only to the sinks
	// where its firing notice was sent or is on its way, and to the same recipients.
	After string
}

// Target is a sink by name. The inbox and push channels have recipients: Recipients, or else the subscribers at the
// time of the commit. Without any recipient the inbox gets no delivery. A push channel gets one delivery without
// recipients, or none with Each.
type Target struct {
	Sink  string
	Inbox bool
	// Recipients replace the subscribers. A push channel without Recipients takes the Recipients of another sink of the
	// same notice.
	Recipients []string
	// Strategy is set for push channels only; nil for the inbox and for queues. The lane of a push channel has no
	// warehouse.
	Strategy *delivery.Strategy
	// Each makes one delivery for each recipient of a push channel, instead of one for all of them.
	Each bool
	// Address goes with Each: recipients without an address of this name in the address book get no delivery. The
	// commit reads the address book. "" leaves out nobody.
	Address string
}

// CommitResult is what a commit did.
type CommitResult struct {
	Deliveries   int
	Unsubscribed int
	Lanes        []Lane // lanes that have new deliveries, by sink and warehouse
}

// ScopeKey is the entry of the set of Removed for a rule and scope.
func ScopeKey(rule, scope string) string { return rule + "\x00" + scope }

// Removals closes the state of rules and scopes that no rule file has any more.
type Removals interface {
	// Removed returns the registered rules and scopes that are not in known, a set of ScopeKey values.
	Removed(ctx context.Context, known map[string]bool) ([]RemovedScope, error)
	// Forget closes one portion of a removed rule in its scope, in one transaction. It removes findings and writes
	// their resolutions, which go where the firing notices went. Waiting deliveries stay, except the deliveries that
	// Over ends. ErrFenced changes nothing: a run, or another node that forgets, changed the findings after the caller
	// had read them.
	Forget(ctx context.Context, p *ForgetPortion) (CommitResult, error)
}

// RemovedScope is a removed rule in its scope.
type RemovedScope struct {
	Rule, Scope string
	LastDue     time.Time // of the last run; zero before the first
	// Back is Commit.Back of the last run: where resolutions of the rule's notices go. nil = no resolution is sent.
	Back []Target
}

// ForgetPortion is what one transaction closes of a removed rule in its scope.
type ForgetPortion struct {
	Rule, Scope string
	LastDue     time.Time // RemovedScope.LastDue at the time when the caller read the findings; fences the portion
	Keys        []string  // of the findings to remove
	Notices     []NewNotice
	Over        []string // see Commit.Over
	// This is the last portion: it removes the rule and scope as well, with their remaining findings and plans.
	Last bool
}
