package ledger

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"tallyman/internal/silence"
)

// Operations keeps what people change while everything runs, and how nodes learn of it.
type Operations interface {
	Numbers
	Shadows
	Tokens
	Switches
	Sessions
	Audit
	Silences
}

// Numbers grow with every change of what nodes keep in memory, one for each kind. A node asks for them all the time, and reads again what
// has changed: so what is changed on one node is in force on all of them within a second.
type Numbers interface {
	Numbers(ctx context.Context) (map[string]int64, error)
}

// Shadows keeps which rules in shadow are live.
type Shadows interface {
	// Promote records that the rule, which the files have in shadow, is live in the scope from its next run on. It
	// changes nothing where that is recorded already. ErrNotFound before Register.
	Promote(ctx context.Context, who Author, rule, scope string, at time.Time) error
	// Demote takes that back. It changes nothing where it was not recorded.
	Demote(ctx context.Context, who Author, rule, scope string) error
	PromotionReader
}

// PromotionReader reads which rules in shadow are live.
type PromotionReader interface {
	// Promotions returns the rules and scopes that were promoted, by rule and scope.
	Promotions(ctx context.Context) ([]Promotion, error)
}

// Promotion is a rule that is live in a scope although its file has it in shadow.
type Promotion struct {
	Rule, Scope string
	At          time.Time
	By          string
}

// Switches keeps what operators have switched on and off beside the rule files, so that no reload and no restart undoes it. Every change
// raises the number "switches".
type Switches interface {
	// Switches returns every switch, by rule and scope: those that were cleared or have ended too, since they tell when the rule was
	// free again.
	Switches(ctx context.Context) ([]Switch, error)
	// SetSwitch replaces the switch of the rule and scope. The rule need not be known. It is by who asks.
	SetSwitch(ctx context.Context, who Author, s Switch) error
}

// Every stands for all: as a switch's rule for every rule, as its scope for the whole rule.
const Every = "*"

// SwitchState is what a switch says.
type SwitchState int16

// The states. A cleared switch leaves the rule to what its file says.
const (
	SwitchCleared SwitchState = 0
	SwitchOn      SwitchState = 1
	SwitchOff     SwitchState = 2
)

// Switch is what an operator has switched.
type Switch struct {
	Rule, Scope string
	State       SwitchState
	Until       time.Time // when it ends by itself; zero = it does not
	At          time.Time // when it was set
	Reason      string
	By          string
}

// InForce tells whether the switch says anything at that time.
func (s *Switch) InForce(now time.Time) bool {
	return s.State != SwitchCleared && (s.Until.IsZero() || now.Before(s.Until))
}

// Free is when the switch was touched last, by an operator or by its own end: a rule that it held back has been free since then, or
// longer.
func (s *Switch) Free(now time.Time) time.Time {
	if s.State != SwitchCleared && !s.Until.IsZero() && s.Until.After(s.At) && !now.Before(s.Until) {
		return s.Until
	}
	return s.At
}

// Via says how whoever asked for a change was authenticated, or what asked where no person did.
type Via string

// The ways. An API token is ViaToken. Records of before 0.1 have api and cli, which the client said of itself.
const (
	ViaJWT    Via = "jwt"    // a JWT of the identity provider
	ViaNone   Via = "none"   // nobody is authenticated: auth.mode none
	ViaLocal  Via = "local"  // the command line has opened the ledger itself, as a user of the operating system
	ViaFile   Via = "file"   // rule files were read
	ViaStart  Via = "start"  // a node has started
	ViaSource Via = "source" // a source has listed other subscriptions
	ViaNode   Via = "node"   // a node has found something that it had to act on
	ViaClock  Via = "clock"  // a node has seen that the ledger's clock was set
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

// SetAuthor sets who asked for the change, and returns it. A nil change stays nil.
func (c *Change) SetAuthor(who Author) *Change {
	if c != nil {
		c.By, c.Via = who.By, who.Via
	}
	return c
}

// Audit keeps who changed what. The database refuses to change a record or to remove one: they are kept for ever, whatever the
// retention.
type Audit interface {
	AuditWriter
	AuditReader
	RuleVersions
}

// AuditWriter takes the records of what is not the ledger's to change.
type AuditWriter interface {
	// AddChange adds the record of what is not the ledger's to change, before it is done. Seq and At are the ledger's. ErrNotRecorded.
	AddChange(ctx context.Context, c *Change) error
}

// AuditReader lists the records.
type AuditReader interface {
	// Changes returns records, the latest first, and whether there are more: a page ends at its limit, or where the states of its records
	// come to more than PageBytes.
	Changes(ctx context.Context, f ChangeFilter) (list []Change, more bool, err error)
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
	Oldest bool  // the oldest first
	Before int64 // numbers below this one
	Behind int64 // numbers above this one
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

// Token is an API token as the ledger keeps it: all but the secret.
type Token struct {
	ID          string // public; made of the hash
	Hash        []byte // SHA-256 of the secret
	Name        string // what it is for
	Subject     string // who uses it: user:ann, service:wms
	Access      []string
	Subscribers []string
	Warehouses  []string
	Created     time.Time
	CreatedBy   string
	Expires     time.Time // zero = never
	Used        time.Time // to the minute or so; zero = never
	Revoked     time.Time // zero = it is in force, unless it has expired
	RevokedBy   string
}

// Tokens keeps the API tokens. Its number is "tokens".
type Tokens interface {
	TokenEditor
	// UseTokens records when tokens were used last. Earlier times than are known, and tokens that are not there, change nothing; nor
	// does the number grow.
	UseTokens(ctx context.Context, used map[string]time.Time) error
	// ForgetTokens removes those that were revoked or expired before that time and returns how many.
	ForgetTokens(ctx context.Context, before time.Time) (int64, error)
}

// TokenEditor is what operators do with tokens.
type TokenEditor interface {
	// AddToken adds it, created by who asks. ErrExists where there is one with its id.
	AddToken(ctx context.Context, who Author, t Token) error
	// ListTokens returns all, also those that are revoked or have expired, the latest first.
	ListTokens(ctx context.Context) ([]Token, error)
	// RevokeToken ends a token for good. It changes nothing where that is done already. ErrNotFound.
	RevokeToken(ctx context.Context, who Author, id string, at time.Time) error
}

// Silences keeps what is not told for a while. Their number in Numbers is "silences".
type Silences interface {
	// AddSilence adds a silence, whose author is who asks. ErrExists.
	AddSilence(ctx context.Context, who Author, s *silence.Silence) error
	// EndSilence ends it before its time and makes the deliveries due that it has held back. It changes nothing where it has ended, and
	// tells whether it had not. ErrNotFound.
	EndSilence(ctx context.Context, who Author, id string, at time.Time) (ended bool, err error)
	// Silence returns one. ErrNotFound.
	Silence(ctx context.Context, id string) (silence.Silence, error)
	SilenceReader
	// CountSilenced counts what each silence holds back now, by its id.
	CountSilenced(ctx context.Context) (map[string]SilenceCount, error)
}

// SilenceReader reads silences.
type SilenceReader interface {
	// Silences returns all that are kept, the latest first.
	Silences(ctx context.Context) ([]silence.Silence, error)
}

// SilenceCount is how much a silence holds back. What several hold back counts for each of them, but of deliveries, which one holds.
type SilenceCount struct {
	Findings   int
	Deliveries int // to push channels
}
