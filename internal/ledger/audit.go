package ledger

import (
	"context"
	"encoding/json"
	"time"
)

// Via says by which way a change came.
type Via string

// The ways.
const (
	ViaAPI   Via = "api"
	ViaCLI   Via = "cli"   // from this program's command line, by the API or in the ledger itself
	ViaFile  Via = "file"  // rule files were read anew
	ViaStart Via = "start" // a node has started
)

// Change is the record of something that somebody changed. It holds no secret.
type Change struct {
	Seq    int64 // the ledger's number; later changes have higher ones
	At     time.Time
	By     string // user:ann, service:wms; local:ann where the ledger was opened itself; node:n-1 of what no person asked for
	Via    Via
	Action string          // what was done, as rule.disable
	Object string          // to what, as rule:negative-bin-stock:119240
	Before json.RawMessage // nil = there was nothing, or it does not matter
	After  json.RawMessage // nil = there is nothing
	Reason string
}

// Audit keeps who changed what. The database refuses to change a record or to remove one: they are kept for ever, whatever the
// retention.
type Audit interface {
	// AddChange adds a record. Seq and At are the ledger's.
	AddChange(ctx context.Context, c *Change) error
	// Changes returns records, the latest first.
	Changes(ctx context.Context, f ChangeFilter) ([]Change, error)
}

// ChangeFilter narrows a list; zero values narrow nothing.
type ChangeFilter struct {
	Object string // the object, or the kind or rule that it begins with: rule, rule:a
	By     string
	Action string // the action, or what it begins with: rule
	Since  time.Time
	Before int64 // numbers below this one
	Limit  int   // at least 1
}
