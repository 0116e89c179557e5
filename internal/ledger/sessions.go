package ledger

import (
	"context"
	"time"

	"tallyman/internal/delivery"
)

// Sessions keeps which nodes are alive. A node takes a session when it starts, and renews the session's lease for as
// long as it runs. The session owns firings, lanes, deliveries to push channels and the right to rebuild an index.
// docs/adr/node-sessions.md tells why.
type Sessions interface {
	Nodes
	// BeginSession records a new session. Ids are never used again.
	BeginSession(ctx context.Context, n Node, lease time.Duration) error
	// RenewSession starts the lease anew, and records which rules the node runs. A session whose lease ran out goes
	// on, as long as nobody has buried it. ErrFenced where the session has ended.
	RenewSession(ctx context.Context, id, rules string, lease time.Duration) error
	// EndSessions ends the sessions, and frees what they own. EndSessions leaves out rows that another transaction has
	// locked at that moment. The caller repeats the call to free these as well; repeating does no harm.
	EndSessions(ctx context.Context, ids []string) error
	// BurySessions ends the sessions of other nodes whose leases ran out, and returns these sessions. In the same
	// transaction it frees what the sessions own, as EndSessions does. BurySessions ends none where the lease of self
	// has run out, too: then this node may be the one that is cut off.
	BurySessions(ctx context.Context, self string) ([]Node, error)
}

// Nodes tells which nodes are alive.
type Nodes interface {
	// Nodes returns the sessions that have not been ended, by name and id.
	Nodes(ctx context.Context) ([]Node, error)
	// HeldLanes returns the lanes that sessions hold, by sink and warehouse.
	HeldLanes(ctx context.Context) ([]HeldLane, error)
}

// Node is one node of the cluster, in its present session.
type Node struct {
	Session string // id of the session
	Name    string
	Version string // of the program
	Rules   string // hash of the rules that the node runs
	Started time.Time
	Changed time.Time     // since when the node runs these rules, by the ledger's clock
	Seen    time.Time     // when the node last renewed the lease, by the ledger's clock
	Left    time.Duration // rest of the lease; zero or less = the lease ran out
}

// HeldLane is a lane that a session holds.
type HeldLane struct {
	delivery.Lane

	Session string
}
