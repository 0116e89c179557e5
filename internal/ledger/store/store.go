package store

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"tallyman/internal/item"
	"tallyman/internal/ledger"
	"tallyman/internal/ledger/codec"
)

// Conn runs statements by name. Conn is a transaction, or the database itself, where each statement is a transaction of
// its own.
type Conn interface {
	// Exec returns the number of rows that the statement changed.
	Exec(ctx context.Context, name string, args ...any) (int64, error)
	// One scans the first row into the targets. One returns false where there is no row.
	One(ctx context.Context, name string, args []any, targets ...any) (bool, error)
	// Each scans each row into the targets and then calls visit. visit must not run a statement.
	Each(ctx context.Context, name string, args, targets []any, visit func() error) error
}

// Engine is the database. As a Conn it reads committed data, and each statement is a transaction of its own. Its
// errors begin with "ledger:".
type Engine interface {
	Conn
	// EachPlanned is Each after the statement plan, which tells the database how to find the rows. An engine without
	// such statements ignores plan.
	EachPlanned(ctx context.Context, plan, name string, args, targets []any, visit func() error) error
	// InTx runs do in a transaction. After a deadlock with another transaction it runs do again, therefore the function
	// do must assign its results anew and not add to them.
	InTx(ctx context.Context, what string, do func(Conn) error) error
	// InAuditTx is InTx for changes with an audit record. Only one of them runs at a time on all nodes. So do sees
	// all earlier changes, and the records have the order of their changes.
	InAuditTx(ctx context.Context, what string, do func(Conn) error) error
	// CancelRead cancels in one transaction up to limit deliveries that the read-all makes needless, with numbers
	// above after, and returns their numbers ascending.
	CancelRead(ctx context.Context, r *ledger.ReadAll, after int64, limit int) ([]int64, error)
	// LookAtNotices reads the next notices of a search. full tells whether it read as many as a.Limit.
	LookAtNotices(ctx context.Context, s *codec.Search, a *codec.LookArgs) (looked []codec.Candidate, full bool, err error)
	// Aside is the same database with connections of its own, for the sessions of nodes. Other nodes take over from a
	// node that does not renew its session. So a renewal must not wait for other work of this process.
	Aside() Engine
	// IsAlone tells whether nobody else can write while a transaction runs.
	IsAlone() bool
	// IsDuplicate tells whether a statement failed because the key exists already.
	IsDuplicate(err error) bool
	Pruner
}

// Store has the methods of a ledger that do not depend on the engine. Each embedded store implements one part of the
// contract in package ledger. Store is safe for concurrent use.
type Store struct {
	*base
	firingStore
	catalogueStore
	deliveryStore
	inboxStore
	queueStore
	operationStore
	sessionStore
	clockStore
	auditStore
	historyStore
	lineageStore
	pruner
}

// base is what the stores share.
type base struct {
	IDs      *IDs
	Recorder *Recorder
	Servers  *Servers

	db       Engine
	now      func() time.Time // clock by which leases are judged; nil = the engine's clock
	nodeTime func() time.Time // clock for everything else; nil = now
}

// New makes the store of a ledger that is opened with opts.
func New(db Engine, opts ledger.Options) *Store {
	b := &base{IDs: newIDs(db), Servers: &Servers{}, db: db, now: opts.Now, nodeTime: opts.NodeTime}
	b.Recorder = &Recorder{nowArg: b.NowArg, step: opts.Steps()}
	return &Store{
		base: b, firingStore: firingStore{b}, catalogueStore: catalogueStore{b}, deliveryStore: deliveryStore{b}, inboxStore: inboxStore{b},
		queueStore: queueStore{b}, operationStore: operationStore{b}, sessionStore: sessionStore{b}, clockStore: clockStore{b}, auditStore: auditStore{b}, historyStore: historyStore{b},
		lineageStore: lineageStore{b}, pruner: pruner{b},
	}
}

// NowArg returns the argument "now" for statements about anything but leases: the node's time. Nil = the engine's
// clock.
func (b *base) NowArg() *int64 {
	if b.nodeTime == nil {
		return b.LeaseArg()
	}
	us := b.nodeTime().UnixMicro()
	return &us
}

// LeaseArg returns the argument "now" for statements about leases and sessions. Nil = the engine's clock.
func (b *base) LeaseArg() *int64 {
	if b.now == nil {
		return nil
	}
	us := b.now().UnixMicro()
	return &us
}

// change runs do, which changes data that operators set, and writes the audit record that do returns, in one
// transaction. do returns nil where nothing changed; then there is no record.
func (b *base) change(ctx context.Context, what string, who ledger.Author, do func(Conn) (*ledger.Change, error)) error {
	return b.Recorder.Run(func(record Record) error {
		return b.db.InAuditTx(ctx, what, func(tx Conn) error {
			c, err := do(tx)
			if err != nil {
				return err
			}
			return record(ctx, tx, c.SetAuthor(who))
		})
	})
}

// count raises one of the ledger's numbers, by which nodes notice a change.
func count(ctx context.Context, tx Conn, number string) error {
	_, err := tx.Exec(ctx, "count-change", number)
	return err
}

// list runs a statement and returns value() for each row. Each row is scanned into the targets before value is
// called.
func list[T any](ctx context.Context, c Conn, name string, args, targets []any, value func() (T, error)) ([]T, error) {
	var out []T
	err := c.Each(ctx, name, args, targets, func() error {
		v, err := value()
		out = append(out, v)
		return err
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// one is list for a statement that returns at most one row. one returns nil where there is no row.
func one[T any](ctx context.Context, c Conn, name string, args, targets []any, value func() (T, error)) (*T, error) {
	found, err := c.One(ctx, name, args, targets...)
	if err != nil || !found {
		return nil, err
	}
	v, err := value()
	return &v, err
}

// countBy returns the rows of a statement that has the columns name and number.
func countBy(ctx context.Context, c Conn, statement string, args ...any) (map[string]int64, error) {
	counts := map[string]int64{}
	var name string
	var n int64
	err := c.Each(ctx, statement, args, []any{&name, &n}, func() error { counts[name] = n; return nil })
	if err != nil {
		return nil, err
	}
	return counts, nil
}

// FencedIfNone returns ErrFenced where a statement changed no row.
func FencedIfNone(n int64, err error) error {
	if err == nil && n == 0 {
		return ledger.ErrFenced
	}
	return err
}

// body is the scan target for a notice's body. body does not copy the bytes, so it is valid only until the next row is
// scanned.
type body []byte

// Scan implements sql.Scanner.
func (b *body) Scan(value any) error {
	bytes, ok := value.([]byte)
	if !ok {
		return fmt.Errorf("the body of a notice is %T", value)
	}
	*b = bytes
	return nil
}

// IDs caches the ids of lanes and queues. These ids never change, and the rows are never deleted. IDs must not be
// called inside a transaction of an engine that is alone, because IDs may start a transaction itself.
type IDs struct {
	db Conn

	mu     sync.Mutex
	lanes  map[ledger.Lane]int64
	queues map[string]int64
	life   int // number of times that the cache was dropped
}

func newIDs(db Conn) *IDs {
	return &IDs{db: db, lanes: map[ledger.Lane]int64{}, queues: map[string]int64{}}
}

// Lane returns the id of the lane; false where the ledger does not have it.
func (n *IDs) Lane(ctx context.Context, lane ledger.Lane) (id int64, found bool, err error) {
	return find(ctx, n, n.lanes, lane, "lane", lane.Sink, lane.Warehouse)
}

// MakeLane returns the id of the lane and makes the lane if it is new, in a transaction of its own. A lane without
// deliveries does no harm.
func (n *IDs) MakeLane(ctx context.Context, lane ledger.Lane) (int64, error) {
	id, found, err := n.Lane(ctx, lane)
	if err != nil || found {
		return id, err
	}
	if _, err := n.db.Exec(ctx, "add-lane", lane.Sink, lane.Warehouse); err != nil {
		return 0, err
	}
	id, _, err = n.Lane(ctx, lane)
	return id, err
}

// MakeLanes is MakeLane for several lanes.
func (n *IDs) MakeLanes(ctx context.Context, lanes []ledger.Lane) ([]int64, error) {
	ids := make([]int64, len(lanes))
	for i, lane := range lanes {
		id, err := n.MakeLane(ctx, lane)
		if err != nil {
			return nil, err
		}
		ids[i] = id
	}
	return ids, nil
}

// MakeEventLane is MakeLane for the push channel that gets the events of the moves; 0 = no channel does.
func (n *IDs) MakeEventLane(ctx context.Context, entries []item.Moves) (int64, error) {
	lane, ok := codec.EventLane(entries)
	if !ok {
		return 0, nil
	}
	return n.MakeLane(ctx, lane)
}

// Queue returns the id of the queue; false where the ledger has no record of it.
func (n *IDs) Queue(ctx context.Context, name string) (id int64, found bool, err error) {
	return find(ctx, n, n.queues, name, "queue", name)
}

// MakeQueue returns the id of the queue and makes the queue if it is new, in a transaction of its own.
func (n *IDs) MakeQueue(ctx context.Context, name string) (int64, error) {
	id, found, err := n.Queue(ctx, name)
	if err != nil || found {
		return id, err
	}
	if _, err := n.db.Exec(ctx, "add-queue", name, strings.TrimSuffix(name, ledger.TestTwin)); err != nil {
		return 0, err
	}
	id, _, err = n.Queue(ctx, name)
	return id, err
}

// forget drops the cache: a restored ledger may have given the same ids to other lanes and queues.
func (n *IDs) forget() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.life++
	clear(n.lanes)
	clear(n.queues)
}

func find[K comparable](ctx context.Context, n *IDs, known map[K]int64, key K, name string, args ...any) (id int64, found bool, err error) {
	n.mu.Lock()
	id, found = known[key]
	life := n.life
	n.mu.Unlock()
	if found {
		return id, true, nil
	}
	if found, err = n.db.One(ctx, name, args, &id); err != nil || !found {
		return 0, false, err
	}
	n.mu.Lock()
	if n.life == life { // Otherwise the id may come from the ledger before the restore.
		known[key] = id
	}
	n.mu.Unlock()
	return id, true, nil
}
