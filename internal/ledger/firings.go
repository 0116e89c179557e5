package ledger

import (
	"context"
	"time"

	"tallyman/internal/delivery"
	"tallyman/internal/finding"
	"tallyman/internal/notice"
	"tallyman/rules/row"
)

// Firings is what the engine needs to run a rule once in the whole cluster.
type Firings interface {
	// Register makes the rule and scope known (first due time = after now, in that clock term) and returns its state. It
	// changes nothing where it is known already.
	Register(ctx context.Context, rule, scope string, term int64, now time.Time) (ScopeState, error)
	// Claim takes the firing for node. A firing is a clock term and a due time: those of an earlier term lie before all of a later one. Where a firing of the same rule and scope was abandoned (its lease
	// ran out before it was committed), the claim is for that one instead, whatever due says, and
	// Claim.Repeated is true: the caller runs it and then, if Claim.Due was not its own, claims that. ErrDone,
	// ErrBusy; ErrNotFound before Register.
	Claim(ctx context.Context, rule, scope string, term int64, due time.Time, node string, lease time.Duration) (Claim, error)
	// Renew extends the lease. ErrFenced.
	Renew(ctx context.Context, c Claim, lease time.Duration) error
	// Release gives an unfinished firing back, so that any node may claim it at once. ErrFenced. The claim is
	// worth nothing afterwards.
	Release(ctx context.Context, c Claim) error
	// Abandoned returns the unfinished firings that no node holds: their leases ran out, or they were given
	// back. A rule that is due once a day need not wait a day for the rest of its firing. Node is who had it.
	Abandoned(ctx context.Context) ([]Claim, error)
	// Skip records that the firing did not run, because the one before it still did, and why. It does
	// nothing where that firing runs, is done, or lies before the last one. ErrNotFound before Register.
	Skip(ctx context.Context, rule, scope string, term int64, due time.Time, node, reason string) error
	// Thaw is Skip for the last firing that was left out because the rule was disabled. The observed clock counts on from this firing.
	Thaw(ctx context.Context, rule, scope string, term int64, due time.Time, node, reason string) error
	// Commit writes a run in one transaction, fenced by the claim's token: the run, the findings that
	// changed, the scope's state and watermark, the notices, and a delivery for each notice and sink. An inbox
	// delivery gets its recipients from the subscriptions as that transaction sees them; without
	// recipients there is no delivery. ErrFenced changes nothing.
	//
	// After an error that leaves open whether the transaction went through (the connection broke), the caller
	// repeats the same Commit with the same claim: one that did go through changes nothing more and is
	// answered as it was.
	Commit(ctx context.Context, c Claim, run *Commit) (CommitResult, error)
	Removals
	Rewinds
	ScopeReader
	OpenReader
}

// OpenReader reads of open findings what a run needs that knows them by their outlines.
type OpenReader interface {
	// Open returns the outlines of all open findings, and the findings that no row makes.
	Open(ctx context.Context, rule, scope string) (*finding.Open, error)
	// OpenFindings returns the open findings whose keys have these hashes, in no order.
	OpenFindings(ctx context.Context, rule, scope string, keys []finding.Hash) ([]finding.State, error)
	// Carriers returns how many open findings carry each of the notices. It reads all findings of the rule in the scope.
	Carriers(ctx context.Context, rule, scope string, notices []string) (map[string]int, error)
}

// ScopeReader reads what a run begins with.
type ScopeReader interface {
	// Scope returns the state of the rule in the scope. ErrNotFound before Register.
	Scope(ctx context.Context, rule, scope string) (ScopeState, error)
	FindingReader
	LookBacks
	// Notices returns those of the ids that the ledger still has.
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
	Done       time.Time   // due time of the last firing that is done or was skipped; zero before the first
	Watermark  []row.Value // nil before the first event run
	Initial    string      // what the rule's file said of `initial` when the watermark began or was moved; "" while there is none
	Running    *Claim      // the claim in force, if any
	Promoted   time.Time   // when Promote was called; zero while it was not
	PromotedBy string
}

// IsDone tells whether the firing of that clock term is done, was skipped, or lies before the last that was.
func (s *ScopeState) IsDone(term int64, due time.Time) bool {
	return term < s.Term || term == s.Term && !due.After(s.Done)
}

// Claim is the right to run one firing. Token fences it: it grows with every claim of the rule and scope.
// Repeated means that a node had the firing before and did not finish it.
type Claim struct {
	Rule, Scope string
	Term        int64 // of the clock; see Term
	Due         time.Time
	Node        string
	Token       int64
	LeaseUntil  time.Time
	Repeated    bool

	// State is that of the rule in the scope when the firing was claimed; nil = it is asked for.
	State *ScopeState
	// Before is the token of the claim before, where Node had that one, too, and nothing has changed the findings since but what was committed under it; 0 = unknown.
	Before int64
}

// Outcome is how a run ended.
type Outcome string

// The outcomes.
const (
	OutcomeOK       Outcome = "ok"
	OutcomeDegraded Outcome = "degraded" // some rows could not be judged, keys repeated, or rows belong to no scope
	OutcomeFailed   Outcome = "failed"
	OutcomeSkipped  Outcome = "skipped" // overlap: the firing before it still ran
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
	Rows         int // that the probe returned
	Matched      int // rows that met the condition; with per: result all of them, or none
	Errored      int // rows that could not be judged or told: none of Matched
	Pending      int // findings after the run
	Firing       int
	Notices      int      // made by the run
	Unsubscribed int      // deliveries to inboxes and by mail not made, for want of a subscriber
	Strays       int      // rows of the scan that name no scope of the rule, which has split_by: none of Rows; one scope of the scan counts them
	Error        string   // "" unless failed; with its code
	Samples      []string // of what degraded it, at most 5
}

// Commit is what one run changes.
type Commit struct {
	Run       Run
	Scope     finding.Scope
	Watermark []row.Value     // nil = unchanged
	Initial   string          // what the rule's file says of `initial`, where the watermark begins with this run; "" = unchanged
	LookBack  *LookBackChange // nil = unchanged
	// Again is true when an event run stopped at max_rows: the firing is not done, its watermark has
	// moved on, and the claim stays in force for the rest. Each commit of such a firing counts its own
	// share in Run; the record adds them up.
	Again    bool
	Findings []FindingChange
	Notices  []NewNotice
	// Over names the firing notices whose findings are over. Waiting deliveries of those findings that have `unless: resolved` are
	// canceled, those of before the last reminder too.
	Over []string
	// Back is where resolutions of the rule's notices go. It is kept until the next commit, for the case that the rule is removed from the files; nil = a
	// removed rule tells nobody.
	Back []Target
	// Silenced is how many rows of mode event each silence has dropped, by its id.
	Silenced map[string]int
}

// IsQuiet tells whether the run has changed nothing: only its record is written, and how far the scope is.
func (c *Commit) IsQuiet() bool {
	r := &c.Run
	return r.Outcome == OutcomeOK && r.Errored+r.Notices+r.Unsubscribed == 0 && !c.Again && c.LookBack == nil && c.Initial == "" &&
		len(c.Watermark)+len(c.Findings)+len(c.Notices)+len(c.Over)+len(c.Silenced) == 0 && c.Scope.LastDue.Equal(r.Due)
}

// FindingChange is a finding after the run.
type FindingChange struct {
	finding.State
	Op  Op
	Row []byte // JSON of the row that it was made of, kept for History; nil = the one before stays
}

// Op is what happens to a finding's record. Inserting one that is there, or changing one that is not, fails
// the commit: then the state that the run started from was not the ledger's.
type Op uint8

// The operations.
const (
	Insert Op = iota + 1
	Update
	Delete
)

// NewNotice is a notice and where it goes. A notice whose id the ledger has already is left as it is.
type NewNotice struct {
	Notice *notice.Notice
	Sinks  []Target
	// After is the firing notice that this one takes back, or "". It then goes only where that one was sent or is on
	// its way, and to the same recipients.
	After string
}

// Target is a sink by name. The inbox and push channels have recipients, looked up in the commit unless they are given. The inbox gets no
// delivery where nobody is one; a push channel does.
type Target struct {
	Sink  string
	Inbox bool
	// Recipients are instead of the subscribers. A push channel without any has those that another sink of the notice names.
	Recipients []string
	// Strategy makes it a push channel; nil of the inbox and of queues. Its lane has no warehouse.
	Strategy *delivery.Strategy
	// Each makes one delivery for each recipient of a push channel, who is then the only one.
	Each bool
	// Address leaves out those of Each that have no address of this name in the address book, which is asked in the commit; "" leaves out nobody.
	Address string
}

// CommitResult is what a commit did.
type CommitResult struct {
	Deliveries   int
	Unsubscribed int
	Lanes        []Lane // with something new to deliver, by sink and warehouse
}

// ScopeKey is the entry of the set of Removed for a rule and scope.
func ScopeKey(rule, scope string) string { return rule + "\x00" + scope }

// Removals closes the state of rules and scopes that are in no file any more.
type Removals interface {
	// Removed returns the rules and scopes that were registered and are not known. known has the ScopeKey of each that is.
	Removed(ctx context.Context, known map[string]bool) ([]RemovedScope, error)
	// Forget closes one portion of a removed rule in its scope, in one transaction: findings go, and their resolutions are written, which go where
	// the firing notices went. Waiting deliveries go on, but for those that Over ends. ErrFenced changes nothing: a run, or another node
	// that forgets, has changed the findings since the caller read them.
	Forget(ctx context.Context, p *ForgetPortion) (CommitResult, error)
}

// RemovedScope is a removed rule in its scope.
type RemovedScope struct {
	Rule, Scope string
	LastDue     time.Time // of the last run; zero before the first
	// Back is where resolutions of the rule's notices go, as of the last run; nil = nobody is told. See Commit.Back.
	Back []Target
}

// ForgetPortion is what one transaction closes of a removed rule in its scope.
type ForgetPortion struct {
	Rule, Scope string
	LastDue     time.Time // RemovedScope.LastDue, as it was when the findings were read
	Keys        []string  // of the findings that go
	Notices     []NewNotice
	Over        []string // see Commit.Over
	Last        bool     // the rule and scope go, too, with all that is left of their findings and plans
}
