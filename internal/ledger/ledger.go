package ledger

import (
	"context"
	"errors"
	"time"

	"tallyman/internal/delivery"
	"tallyman/internal/item"
)

// The errors that callers tell apart.
var (
	ErrDone     = errors.New("ledger: the firing is done or lies before the last one")
	ErrBusy     = errors.New("ledger: another firing of the rule and scope is running")
	ErrFenced   = delivery.ErrFenced // the claim was lost to another node
	ErrNotFound = delivery.ErrNotFound
	ErrInvalid  = errors.New("ledger: not a valid value")
	ErrExists   = errors.New("ledger: already there")
	ErrInUse    = errors.New("ledger: the file is in use by another process") // sqlite: one node
	ErrSchema   = errors.New("ledger: the schema is not at this program's version; run tallyman migrate up")
	// ErrOutdated is not an ErrSchema: no step leads from there.
	ErrOutdated = errors.New("ledger_outdated: a version of before 0.1.0 has made this ledger, and no migration leads from there; " +
		"point ledger.url to an empty database or to another file")
	// ErrNewer is not an ErrSchema: this program has no step that leads from there.
	ErrNewer = errors.New("ledger_newer: a newer version of Tallyman has brought this ledger up to date; " +
		"start that version or a newer one on this ledger")
	// ErrPooled says that a connection is not one session of the server.
	ErrPooled = errors.New("ledger_pooled: advisory locks of two connections to the ledger do not exclude each other, as behind PgBouncer in transaction mode; " +
		"set pool_mode = session for the ledger's database there, or give ledger.url the address of PostgreSQL itself")
)

// Ledger is everything; see the stores.
type Ledger interface {
	Firings
	Catalogue
	Deliveries
	Inbox
	Queues
	Operations
	History
	Lineage
	Clock
	Server
}

// Server is the database behind the ledger.
type Server interface {
	Ping(ctx context.Context) error
	// TryCommit writes what the smallest commit of a run writes, takes it back in the same transaction, and commits. Nobody ever sees a row of it.
	TryCommit(ctx context.Context) error
	// Refusal says why the database has refused what failed with the error; false where the database was out of reach or has not refused.
	Refusal(err error) (Refusal, bool)
	// Version returns the schema's version.
	Version(ctx context.Context) (int64, error)
	Pruner
	Close() error
}

// Pruner removes what is old.
type Pruner interface {
	// Prune removes what is older than before: finished deliveries with their notices (never those that an
	// open finding names or that have not expired), items that were pushed and have ended before it (never those whose
	// dedupe window is open), and all but the last keepRuns (at least 1) firings of each rule and scope; of those, too, what is older may
	// go, but for the last one as long as the rule is there in the scope. It works in
	// small batches and returns how many rows went; an item with its trace is one.
	Prune(ctx context.Context, before time.Time, keepRuns int) (int64, error)
}

// Options are those of every engine. The zero value is fine.
type Options struct {
	// Now replaces the database's clock, which leases are judged by, for tests; of a file it is the clock of the node's machine.
	Now func() time.Time
	// NodeTime is the time that the node goes by, which everything but leases is judged by: what expires, what is due, what is pruned.
	// Defaults to the database's clock.
	NodeTime func() time.Time
	// MaxConnections bounds the pool. Defaults to 8; sqlite has one more, for writing.
	MaxConnections int
	// Step is called between the steps of every change that has a record, for tests that end the process there; nil = nothing is.
	Step func(step string)
}

// The steps of a change that has a record: the change was written, then its record, and then both were committed.
const (
	StepChanged   = "changed"
	StepRecorded  = "recorded"
	StepCommitted = "committed"
)

// Migration is one step of the schema.
type Migration struct {
	Version int64
	Name    string
	Applied time.Time // zero = pending
}

// Steps is Step, which does nothing where there is none.
func (o *Options) Steps() func(step string) {
	if o.Step == nil {
		return func(string) {}
	}
	return o.Step
}

// Queues is what the ledger keeps of work queues: their items, what became of each, who has paused what, and what operators have set.
type Queues interface {
	item.Journal
	item.Records
	item.Withholding
	item.SettingsRecord // their number in Numbers is "queue_settings"
	// CountWithheld counts the items that are withheld and not decided, by queue; queues without any are left out.
	CountWithheld(ctx context.Context) (map[string]int64, error)
}

// LookedAt is how many items one call of EndedItems looks at for those of some warehouses.
const LookedAt = 10_000

// TestTwin is the end of the name of a queue's test twin.
const TestTwin = ":test"
