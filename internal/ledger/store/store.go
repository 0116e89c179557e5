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

// Conn runs statements by their names. It is a transaction, or the database, where each statement is a transaction of its own.
type Conn interface {
	// Exec returns the number of rows that the statement changed.
	Exec(ctx context.Context, name string, args ...any) (int64, error)
	// One scans the first row into the targets. It returns false where there is none.
	One(ctx context.Context, name string, args []any, targets ...any) (bool, error)
	// Each scans each row into the targets and calls visit after it. Visit may run no statement.
	Each(ctx context.Context, name string, args, targets []any, visit func() error) error
}

// Engine is the database. As a Conn it reads what is committed, and writes each statement by itself; its errors begin with "ledger:".
type Engine interface {
	Conn
	// EachPlanned is Each after the statement plan, which tells the engine how to find the rows. An engine without such statements leaves plan out.
	EachPlanned(ctx context.Context, plan, name string, args, targets []any, visit func() error) error
	// InTx runs do in a transaction. It runs do again where the transaction and another one waited for each other: do sets anew whatever it sets.
	InTx(ctx context.Context, what string, do func(Conn) error) error
	// InAuditTx is InTx for changes that have a record. One of them runs at a time on all nodes, so that do sees what was changed before, and
	// records have the order of their changes.
	InAuditTx(ctx context.Context, what string, do func(Conn) error) error
	// CancelRead cancels, in one transaction, at most so many deliveries after a number that the read-all makes needless, and returns them ascending.
	CancelRead(ctx context.Context, r *ledger.ReadAll, after int64, limit int) ([]int64, error)
	// LookAtNotices looks at the notices that follow in a search. full tells whether there were as many as were asked for.
	LookAtNotices(ctx context.Context, s *codec.Search, a *codec.LookArgs) (looked []codec.Candidate, full bool, err error)
	// Aside is the same database for the sessions of nodes. Where others may take over from a node whose session is not renewed, it waits for no other work of
	// this process.
	Aside() Engine
	// IsAlone tells whether nobody else writes while a transaction runs.
	IsAlone() bool
	// IsDuplicate tells whether a statement failed because a key is there already.
	IsDuplicate(err error) bool
	Pruner
}

// Store has the methods of a ledger that do not depend on the engine, a store for each of the ledger's. It is safe for concurrent use.
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
	now      func() time.Time // the clock that leases are judged by; nil = the engine's
	nodeTime func() time.Time // what the node goes by; nil = now
}

// New makes the store of a ledger that was opened with the options.
func New(db Engine, opts ledger.Options) *Store {
	b := &base{IDs: newIDs(db), Servers: &Servers{}, db: db, now: opts.Now, nodeTime: opts.NodeTime}
	b.Recorder = &Recorder{nowArg: b.NowArg, step: opts.Steps()}
	return &Store{
		base: b, firingStore: firingStore{b}, catalogueStore: catalogueStore{b}, deliveryStore: deliveryStore{b}, inboxStore: inboxStore{b},
		queueStore: queueStore{b}, operationStore: operationStore{b}, sessionStore: sessionStore{b}, clockStore: clockStore{b}, auditStore: auditStore{b}, historyStore: historyStore{b},
		lineageStore: lineageStore{b}, pruner: pruner{b},
	}
}

// NowArg is the argument "now" of statements about all but leases: the time that the node goes by. Nil is the engine's clock.
func (b *base) NowArg() *int64 {
	if b.nodeTime == nil {
		return b.LeaseArg()
	}
	us := b.nodeTime().UnixMicro()
	return &us
}

// LeaseArg is the argument "now" of statements about leases, and about who is there. Nil is the engine's clock.
func (b *base) LeaseArg() *int64 {
	if b.now == nil {
		return nil
	}
	us := b.now().UnixMicro()
	return &us
}

// change runs do, which changes what operators set, and writes the record that do returns, in one transaction. Of nil nothing is recorded:
// nothing was changed.
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

// count raises one of the ledger's numbers, by which nodes see that something was changed.
func count(ctx context.Context, tx Conn, number string) error {
	_, err := tx.Exec(ctx, "count-change", number)
	return err
}

// list returns what value makes of each row, which is scanned into the targets.
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

// one is list for a statement that returns at most one row; nil where there is none.
func one[T any](ctx context.Context, c Conn, name string, args, targets []any, value func() (T, error)) (*T, error) {
	found, err := c.One(ctx, name, args, targets...)
	if err != nil || !found {
		return nil, err
	}
	v, err := value()
	return &v, err
}

// countBy returns the numbers that a statement has by name.
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

// FencedIfNone is ErrFenced where a statement changed no row.
func FencedIfNone(n int64, err error) error {
	if err == nil && n == 0 {
		return ledger.ErrFenced
	}
	return err
}

// body is the target for a notice's body, which is read before the next row is scanned and so need not be copied.
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

// IDs knows the numbers of lanes and queues, and remembers them: they never change, and their rows are never deleted. It must not be asked in
// the middle of a transaction of an engine that is alone.
type IDs struct {
	db Conn

	mu     sync.Mutex
	lanes  map[ledger.Lane]int64
	queues map[string]int64
	life   int // counts how often all were dropped
}

func newIDs(db Conn) *IDs {
	return &IDs{db: db, lanes: map[ledger.Lane]int64{}, queues: map[string]int64{}}
}

// Lane returns the id of the lane; false where there is none.
func (n *IDs) Lane(ctx context.Context, lane ledger.Lane) (id int64, found bool, err error) {
	return find(ctx, n, n.lanes, lane, "lane", lane.Sink, lane.Warehouse)
}

// MakeLane returns the id of the lane, making it if it is new. That is a transaction of its own: a lane without deliveries does no harm.
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

// MakeLanes is MakeLane for several.
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

// MakeEventLane is MakeLane for the push channel that is told of moves; 0 = none is.
func (n *IDs) MakeEventLane(ctx context.Context, entries []item.Moves) (int64, error) {
	lane, ok := codec.EventLane(entries)
	if !ok {
		return 0, nil
	}
	return n.MakeLane(ctx, lane)
}

// Queue returns the id of the queue; false where the ledger does not know it, and so has nothing of it.
func (n *IDs) Queue(ctx context.Context, name string) (id int64, found bool, err error) {
	return find(ctx, n, n.queues, name, "queue", name)
}

// MakeQueue returns the id of the queue, making it if it is new, in a transaction of its own.
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

// forget drops all of them: the ledger may have given the same numbers to others.
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
	if n.life == life { // else the number may be one of the ledger before
		known[key] = id
	}
	n.mu.Unlock()
	return id, true, nil
}
