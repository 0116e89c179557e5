package ledger

import (
	"context"
	"time"

	"tallyman/internal/delivery"
)

// Sessions keeps who is there. A node takes a session when it starts, and renews the session's lease for as long as it runs. Firings, lanes, deliveries to push
// channels and the right to write an index back are held in the name of the session. docs/adr/node-sessions.md tells why.
type Sessions interface {
	Nodes
	// BeginSession records a session. No session has the same id again.
	BeginSession(ctx context.Context, n Node, lease time.Duration) error
	// RenewSession lets the lease begin anew, and records which rules the node runs. ErrFenced where the session has ended. A session whose lease is over and that
	// nobody has buried goes on.
	RenewSession(ctx context.Context, id, rules string, lease time.Duration) error
	// EndSessions ends the sessions, and frees what they hold. What another transaction has locked just now is left out: to repeat the call does no harm, and
	// frees that too.
	EndSessions(ctx context.Context, ids []string) error
	// BurySessions ends the sessions of others whose leases are over and frees what they hold, as EndSessions does, in one transaction, and returns those sessions. It
	// ends none where the lease of self is over, too.
	BurySessions(ctx context.Context, self string) ([]Node, error)
}

// Nodes tells who is there.
type Nodes interface {
	// Nodes returns the sessions that nobody has ended, by name and id.
	Nodes(ctx context.Context) ([]Node, error)
	// HeldLanes returns the lanes that sessions hold, by sink and warehouse.
	HeldLanes(ctx context.Context) ([]HeldLane, error)
}

// Node is one node of the cluster, in its present session.
type Node struct {
	Session string // its id
	Name    string
	Version string // of the program
	Rules   string // a hash of the rules that it runs
	Started time.Time
	Changed time.Time     // since when it runs these rules, by the ledger's clock
	Seen    time.Time     // when the lease began last, by the ledger's clock
	Left    time.Duration // of the lease; it is over where nothing is left
}

// HeldLane is a lane that a session holds.
type HeldLane struct {
	delivery.Lane

	Session string
}
