package store

import (
	"context"
	"strings"
	"sync"

	"tallyman/internal/ledger"
)

// IDs knows the numbers of lanes and queues, and remembers them: they never change, and their rows are never deleted. It must not be asked in
// the middle of a transaction of an engine that is alone.
type IDs struct {
	db Conn

	mu     sync.Mutex
	lanes  map[ledger.Lane]int64
	queues map[string]int64
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

func find[K comparable](ctx context.Context, n *IDs, known map[K]int64, key K, name string, args ...any) (id int64, found bool, err error) {
	n.mu.Lock()
	id, found = known[key]
	n.mu.Unlock()
	if found {
		return id, true, nil
	}
	if found, err = n.db.One(ctx, name, args, &id); err != nil || !found {
		return 0, false, err
	}
	n.mu.Lock()
	known[key] = id
	n.mu.Unlock()
	return id, true, nil
}
