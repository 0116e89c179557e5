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
	ErrDone     = errors.New("ledger: the firing is done or lies before the last firing that is done")
	ErrBusy     = errors.New("ledger: another firing of the rule and scope is running")
	ErrFenced   = delivery.ErrFenced // The claim is not in force any more.
	ErrNotFound = delivery.ErrNotFound
	ErrInvalid  = errors.New("ledger: not a valid value")
	ErrExists   = errors.New("ledger: already there")
	ErrInUse    = errors.New("ledger: the file is in use by another process") // SQLite only: one node has the file.
	ErrSchema   = errors.New("ledger: the schema is not at this program's version; run tallyman migrate up")
	// ErrOutdated is not an ErrSchema, because no migration leads from such a ledger to this version.
	ErrOutdated = errors.New("ledger_outdated: a version before 0.1.0 made this ledger, and no migration leads from there; " +
		"point ledger.url to an empty database or to another file")
	// ErrNewer is not an ErrSchema, because this program has no migration that leads back.
	ErrNewer = errors.New("ledger_newer: a newer version of Tallyman has migrated this ledger; " +
		"start that version or a newer one on this ledger")
	// ErrOldNodes says that a contract step may remove what live nodes of another version need.
	ErrOldNodes = errors.New("ledger_old_nodes: nodes of another version use this ledger, and a contract step may remove what that version needs; " +
		"replace or stop these nodes first, or apply the step with tallyman migrate up --force")
	// ErrPooled says that a connection to the ledger is not one session of the server. Advisory locks do not work
	// then.
	ErrPooled = errors.New("ledger_pooled: advisory locks of two connections to the ledger do not exclude each other, as behind PgBouncer in transaction mode; " +
		"set pool_mode = session for the ledger's database there, or give ledger.url the address of PostgreSQL itself")
	// ErrBackupExists says that the file of a backup is there already.
	ErrBackupExists = errors.New("backup_exists: a backup never replaces a file; name a new file")
	// ErrDamaged says that the copy of a ledger has faults, because the ledger has them.
	ErrDamaged = errors.New("backup_damaged: the ledger's file has faults, so its copy was not kept; " +
		"restore the last good backup: docs/how-to/back-up-and-restore.md")
)

// Ledger is the whole contract. Callers name one of the stores below, or a part of one.
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
	Surveyor
	Server
}

// Server is the database behind the ledger.
type Server interface {
	Ping(ctx context.Context) error
	// TryCommit writes what the smallest commit of a run writes, takes it back in the same transaction, and commits.
	// No other transaction sees a row of it. The call shows whether the database takes writes at all.
	TryCommit(ctx context.Context) error
	// Refusal says why the database refused the write that failed with err. Refusal returns false where err means
	// something else, for example that the database was out of reach.
	Refusal(err error) (Refusal, bool)
	// Version returns the schema's version.
	Version(ctx context.Context) (int64, error)
	// CheckSchema checks that this program can use the ledger's schema. ErrNewer after a contract step that removed
	// what this program needs; ErrSchema where an expand step is missing; ErrOutdated.
	CheckSchema(ctx context.Context) error
	Pruner
	Close() error
}

// Pruner removes records that are older than the retention.
type Pruner interface {
	// Prune removes records from before the time `before`, in small batches. It returns the number of rows that it
	// removed; an item with its trace counts as one.
	//
	// Prune removes finished deliveries with their notices, but no notice that an open finding names or that has not
	// expired. It removes items that were pushed and have ended, but none whose dedupe window is open. For each rule
	// and scope it keeps the last keepRuns firings (at least 1), and earlier firings in the same record. Prune may
	// remove even these firings if they are older than before. The last firing stays for as long as the ledger has the
	// rule in that scope.
	Prune(ctx context.Context, before time.Time, keepRuns int) (int64, error)
}

// Options are the settings that every engine has. The zero value is valid.
type Options struct {
	// Now replaces, in tests, the clock that leases are judged by. Defaults to the database's clock; for SQLite that
	// is the clock of the node's machine.
	Now func() time.Time
	// NodeTime is the time by which everything but leases is judged: what expires, what is due, what is pruned.
	// Defaults to the database's clock.
	NodeTime func() time.Time
	// MaxConnections bounds the pool of connections. Defaults to 8. SQLite has one more, for writing. PostgreSQL has
	// up to two more, for the sessions of nodes.
	MaxConnections int
	// Step is called between the steps of every change that has a record. Tests end the process there. nil = no call.
	Step func(step string)
}

// The steps of a change that has a record. Each names what has just happened.
const (
	StepChanged   = "changed"   // The change was written.
	StepRecorded  = "recorded"  // The record of the change was written.
	StepCommitted = "committed" // The transaction of both was committed.
)

// The phases of a migration; docs/adr/migrations.md.
const (
	Expand   = "expand"   // The version before can go on.
	Contract = "contract" // The migration removes what an earlier version needs.
)

// Migration is one step of the schema. A step of a newer version has only Version and Applied.
type Migration struct {
	Version int64
	Name    string
	Phase   string
	Oldest  int64     // of a contract step: the oldest version of the schema whose program may still use the ledger
	Locks   string    // which tables the step locks, and whom the locks hold up
	Lasts   string    // how long the step holds the locks
	Applied time.Time // zero = pending
}

// Pending returns the steps that a migration would apply. A migration that only expands leaves out the contract steps
// after the last expand step.
func Pending(steps []Migration, expand bool) []Migration {
	if expand {
		for len(steps) > 0 && steps[len(steps)-1].Phase == Contract {
			steps = steps[:len(steps)-1]
		}
	}
	var pending []Migration
	for _, step := range steps {
		if step.Applied.IsZero() {
			pending = append(pending, step)
		}
	}
	return pending
}

// GoesOn tells whether a program of that version of the schema can use the ledger after the step.
func (m Migration) GoesOn(version int64) bool { return m.Phase == Expand || version >= m.Oldest }

// Steps returns Step, or a function that does nothing where Step is nil.
func (o *Options) Steps() func(step string) {
	if o.Step == nil {
		return func(string) {}
	}
	return o.Step
}

// Queues is what the ledger keeps of work queues: items, their traces, pauses, and settings that operators changed.
type Queues interface {
	item.Journal
	item.Records
	item.Withholding
	item.SettingsRecord // raises the number "queue_settings" in Numbers
	// CountWithheld counts by queue the withheld items that no operator has decided yet. Queues without any are left
	// out.
	CountWithheld(ctx context.Context) (map[string]int64, error)
}

// LookedAt bounds how many items one call of EndedItems reads when it filters by warehouse.
const LookedAt = 10_000

// TestTwin is the suffix of the name of a queue's test twin.
const TestTwin = ":test"
