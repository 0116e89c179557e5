package ledger

import (
	"context"
	"time"
)

// Nodes keeps who runs, and with which rules, so that nodes on different versions are seen. Whoever was silent for NodeGone is gone.
type Nodes interface {
	// SeeNode records that the node is there; Seen is the ledger's to say.
	SeeNode(ctx context.Context, n Node) error
	// LeaveNode records that it is not any more.
	LeaveNode(ctx context.Context, name string) error
	// Nodes returns those that are there, by name.
	Nodes(ctx context.Context) ([]Node, error)
}

// NodeGone is how long a node may be silent.
const NodeGone = time.Minute

// Node is one node of the cluster.
type Node struct {
	Name    string
	Version string // of the program
	Rules   string // a hash of the rules that it runs
	Started time.Time
	Seen    time.Time
}
