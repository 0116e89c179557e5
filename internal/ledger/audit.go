package ledger

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// Via says how whoever asked for a change was authenticated, or what asked where no person did.
type Via string

// The ways. An API token is ViaToken. Records of before 0.1 have api and cli, which the client said of itself.
const (
	ViaJWT   Via = "jwt"   // a JWT of the identity provider
	ViaNone  Via = "none"  // nobody is authenticated: auth.mode none
	ViaLocal Via = "local" // the command line has opened the ledger itself, as a user of the operating system
	ViaFile  Via = "file"  // rule files were read
	ViaStart Via = "start" // a node has started
)

// ViaToken is the way of a request with that API token.
func ViaToken(id string) Via { return Via("token:" + id) }

// Author is who asks for a change, for its record. Every method that changes what operators set takes one, and writes the change and its
// record in one transaction: ErrNotRecorded where the record cannot be written, and then nothing is changed. An Author that does not say
// everything is an ErrInvalid.
type Author struct {
	By  string // user:ann, service:wms; local:ann where the ledger was opened itself; node:n-1 of what no person asked for
	Via Via
}

// ErrNotRecorded says that the record of a change could not be written, so that nothing was changed.
var ErrNotRecorded = errors.New("ledger: the record of who asked for the change could not be written, so nothing was changed")

// Change is the record of something that somebody changed. It holds no secret.
type Change struct {
	Seq    int64 // the ledger's number; later changes have higher ones, on all nodes
	At     time.Time
	By     string // as in Author
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
	// AddChange adds the record of what is not the ledger's to change, before it is done. Seq and At are the ledger's. ErrNotRecorded.
	AddChange(ctx context.Context, c *Change) error
	// Changes returns records, the latest first, and whether there are more: a page ends at its limit, or where the states of its records
	// come to more than PageBytes.
	Changes(ctx context.Context, f ChangeFilter) (list []Change, more bool, err error)
	RuleVersions
}

// PageBytes is how large the states of a page of changes may grow together, but for the last one's. The largest state is that of an import
// of 10,000 subscriptions.
const PageBytes = 4 << 20

// ChangeFilter narrows a list; zero values narrow nothing.
type ChangeFilter struct {
	Object string // the object, or the kind or rule that it begins with: rule, rule:a
	By     string
	Action string // the action, or what it begins with: rule
	Since  time.Time
	Before int64 // numbers below this one
	Limit  int   // at least 1
}

// RuleVersions keeps which versions of the rule files came into force one after the other. The number "rules" in Numbers is how many.
type RuleVersions interface {
	// TakeRules records that a version comes into force, and is called before it does, on every node. The change is recorded once in the
	// cluster: not where the version is the latest one, nor where it is among those that were recorded after the first from, which is the
	// number "rules" as it was before the node read its files. So nodes that read the same files at the same time leave one record, and files
	// that go back to what they were leave another. recorded tells whether this call has left it. ErrNotRecorded.
	TakeRules(ctx context.Context, who Author, from int64, v *RulesVersion) (recorded bool, err error)
}

// RulesVersion is a version of the rule files as it comes into force on a node.
type RulesVersion struct {
	Version  string   `json:"version"` // a hash of the rules in force
	Rules    int      `json:"rules"`   // each scope counts
	Problems int      `json:"problems"`
	Added    []string `json:"added,omitempty"` // ids of rules, of those that the node had in force
	Changed  []string `json:"changed,omitempty"`
	Removed  []string `json:"removed,omitempty"`
}

// Check returns an ErrInvalid where the author does not say who asks, or how they were authenticated.
func (a Author) Check() error {
	if a.By == "" || a.Via == "" {
		return fmt.Errorf("%w: a change needs who asks for it and by which way, and has %q and %q", ErrInvalid, a.By, a.Via)
	}
	return nil
}
