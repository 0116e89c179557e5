package ledger

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"tallyman/internal/silence"
)

// Operations keeps what people change at run time, and tells the nodes about the changes.
type Operations interface {
	Numbers
	Shadows
	Tokens
	Switches
	Sessions
	Audit
	Silences
}

// Numbers has one number for each kind of data that nodes keep in memory. The number grows with every change of the
// data. Every node polls all numbers and reads again the data whose number grew. So a change that one node makes is
// in force on all nodes within a second. The number "schema_oldest" is the oldest version of the schema whose program
// may use the ledger, see Server.CheckSchema.
type Numbers interface {
	Numbers(ctx context.Context) (map[string]int64, error)
}

// Shadows keeps which rules in shadow were promoted, that is, made live in a scope.
type Shadows interface {
	// Promote records that the rule, which its file has in shadow, is live in the scope from its next run on. Promote
	// changes nothing where the rule is promoted already. ErrNotFound before Register.
	Promote(ctx context.Context, who Author, rule, scope string, at time.Time) error
	// Demote takes a promotion back. Demote changes nothing where there is no promotion.
	Demote(ctx context.Context, who Author, rule, scope string) error
	PromotionReader
}

// PromotionReader reads the promotions.
type PromotionReader interface {
	// Promotions returns all promotions, by rule and scope.
	Promotions(ctx context.Context) ([]Promotion, error)
}

// Promotion is a rule that is live in a scope although its file has it in shadow.
type Promotion struct {
	Rule, Scope string
	At          time.Time
	By          string
}

// Switches keeps which rules operators have switched on or off. A switch is not in the rule files, so no reload and
// no restart undoes it. Every change raises the number "switches" in Numbers.
type Switches interface {
	// Switches returns every switch, by rule and scope. Cleared and ended switches are included, because they tell
	// since when the rule is free again.
	Switches(ctx context.Context) ([]Switch, error)
	// SetSwitch replaces the switch of the rule and scope. The ledger need not know the rule. The ledger sets By from
	// who.
	SetSwitch(ctx context.Context, who Author, s Switch) error
}

// Every means all: as a switch's rule all rules, as its scope all scopes of the rule.
const Every = "*"

// SwitchState is what a switch says.
type SwitchState int16

// The states. A cleared switch leaves the rule to what its file says.
const (
	SwitchCleared SwitchState = 0
	SwitchOn      SwitchState = 1
	SwitchOff     SwitchState = 2
)

// Switch turns a rule on or off in a scope, by an operator's order.
type Switch struct {
	Rule, Scope string
	State       SwitchState
	Until       time.Time // when the switch ends by itself; zero = never
	At          time.Time // when the operator set the switch
	Reason      string
	By          string
}

// InForce tells whether the switch is set and has not ended at that time.
func (s *Switch) InForce(now time.Time) bool {
	return s.State != SwitchCleared && (s.Until.IsZero() || now.Before(s.Until))
}

// Free returns when an operator changed the switch last, or when the switch ended by itself. If the switch stops the
// rule no longer, it has stopped the rule until that time at the latest.
func (s *Switch) Free(now time.Time) time.Time {
	if s.State != SwitchCleared && !s.Until.IsZero() && s.Until.After(s.At) && !now.Before(s.Until) {
		return s.Until
	}
	return s.At
}

// Via says how the author of a change was authenticated, or which part of the program made the change without a
// person.
type Via string

// The ways. ViaToken returns the Via of an API token. Records from before 0.1 also have api and cli, which the client
// claimed for itself.
const (
	ViaJWT    Via = "jwt"    // a JWT of the identity provider
	ViaNone   Via = "none"   // auth.mode is none: nobody is authenticated
	ViaLocal  Via = "local"  // the command line opened the ledger directly, as a user of the operating system
	ViaFile   Via = "file"   // a node read rule files
	ViaStart  Via = "start"  // a node started
	ViaSource Via = "source" // the list of subscriptions from a source changed
	ViaNode   Via = "node"   // a node found a problem and acted on it
	ViaClock  Via = "clock"  // a node saw that somebody set the ledger's clock
)

// ViaToken returns the way of a request that was authenticated by the API token with this id.
func ViaToken(id string) Via { return Via("token:" + id) }

// Author is the person, or the part of the program, that asks for a change. Every method that changes what operators
// set takes an Author, and writes the change and its record in one transaction. Where the record cannot be written, the
// method returns ErrNotRecorded and changes nothing. An Author without By or Via is an ErrInvalid.
type Author struct {
	// user:ann or service:wms; local:ann where the command line opened the ledger; node:n-1 where no person asked
	By  string
	Via Via
}

// ErrNotRecorded says that the record of a change could not be written, so that nothing was changed.
var ErrNotRecorded = errors.New("ledger: the audit record of the change could not be written, so nothing was changed")

// Change is the audit record of one change. Change holds no secret.
type Change struct {
	Seq    int64 // the ledger's number; a later change has a higher one, on all nodes
	At     time.Time
	By     string // as in Author
	Via    Via
	Action string          // what was done, such as rule.disable
	Object string          // what was changed, such as rule:negative-bin-stock:119240
	Before json.RawMessage // state before the change; nil = none, or not relevant
	After  json.RawMessage // state after the change; nil = none
	Reason string
}

// SetAuthor sets the author of the change, and returns the change. A nil change stays nil.
func (c *Change) SetAuthor(who Author) *Change {
	if c != nil {
		c.By, c.Via = who.By, who.Via
	}
	return c
}

// Audit keeps who changed what. The database refuses to change or remove a record. Records stay for ever, whatever
// the retention.
type Audit interface {
	AuditWriter
	AuditReader
	RuleVersions
}

// AuditWriter adds records of changes outside the ledger.
type AuditWriter interface {
	// AddChange adds the record of a change outside the ledger, before the caller makes the change. The ledger sets
	// Seq and At. ErrNotRecorded.
	AddChange(ctx context.Context, c *Change) error
}

// AuditReader lists the records.
type AuditReader interface {
	// Changes returns records, the latest first. A page ends at the limit, or where the states of its records reach
	// PageBytes; more tells whether further records match.
	Changes(ctx context.Context, f ChangeFilter) (list []Change, more bool, err error)
}

// PageBytes bounds the total size of the states in a page of changes. The last record of the page may exceed it. The
// largest state is the import of 10,000 subscriptions.
const PageBytes = 4 << 20

// ChangeFilter narrows a list; zero values narrow nothing.
type ChangeFilter struct {
	Object string // an object, or its beginning up to a colon, such as rule or rule:a
	By     string
	Action string // an action, or its beginning up to a dot, such as rule
	Since  time.Time
	Oldest bool  // the oldest first
	Before int64 // numbers below this one
	Behind int64 // numbers above this one
	Limit  int   // at least 1
}

// RuleVersions keeps the sequence of versions of the rule files that came into force. The number "rules" in Numbers
// is the length of that sequence.
type RuleVersions interface {
	// TakeRules records that a version of the rule files comes into force. Every node calls it before it uses the
	// version.
	//
	// The change is recorded once in the cluster. from is the number "rules" as it was before the node read its files.
	// A call writes no record where the version is the latest one, or where the sequence has the version at a place
	// above from. So nodes that read the same files at the same time write one record. Files that return to an earlier
	// version write another one. recorded tells whether this call wrote the record. ErrNotRecorded.
	TakeRules(ctx context.Context, who Author, from int64, v *RulesVersion) (recorded bool, err error)
}

// RulesVersion is a version of the rule files as it comes into force on a node.
type RulesVersion struct {
	Version  string `json:"version"` // a hash of the rules in force
	Rules    int    `json:"rules"`   // rules in force; a rule counts once for each scope
	Problems int    `json:"problems"`
	// Ids of rules, compared with the rules that the node had in force before.
	Added   []string `json:"added,omitempty"`
	Changed []string `json:"changed,omitempty"`
	Removed []string `json:"removed,omitempty"`
}

// Check returns an ErrInvalid where By or Via is empty.
func (a Author) Check() error {
	if a.By == "" || a.Via == "" {
		return fmt.Errorf("%w: a change needs an author and a way of authentication; it has by %q and via %q", ErrInvalid, a.By, a.Via)
	}
	return nil
}

// Token is an API token as the ledger keeps it: without the secret.
type Token struct {
	ID          string // public; derived from Hash
	Hash        []byte // SHA-256 of the secret
	Name        string // what the token is for
	Subject     string // who uses the token: user:ann, service:wms
	Access      []string
	Subscribers []string
	Warehouses  []string
	Created     time.Time
	CreatedBy   string
	Expires     time.Time // zero = never
	Used        time.Time // when the token was used last, to about a minute; zero = never
	Revoked     time.Time // zero = not revoked
	RevokedBy   string
}

// Tokens keeps the API tokens. Every change raises the number "tokens" in Numbers.
type Tokens interface {
	TokenEditor
	// UseTokens records when tokens were used last. UseTokens ignores times earlier than the recorded ones, and unknown
	// tokens. UseTokens does not raise the number "tokens".
	UseTokens(ctx context.Context, used map[string]time.Time) error
	// ForgetTokens removes the tokens that were revoked or expired before that time, and returns how many.
	ForgetTokens(ctx context.Context, before time.Time) (int64, error)
}

// TokenEditor is what operators do with tokens.
type TokenEditor interface {
	// AddToken adds a token; the ledger sets CreatedBy from who. ErrExists where a token has the same id.
	AddToken(ctx context.Context, who Author, t Token) error
	// ListTokens returns all tokens, the latest first, including revoked and expired ones.
	ListTokens(ctx context.Context) ([]Token, error)
	// RevokeToken ends a token for good. RevokeToken changes nothing where the token is revoked already. ErrNotFound.
	RevokeToken(ctx context.Context, who Author, id string, at time.Time) error
}

// Silences keeps the silences. Every change raises the number "silences" in Numbers.
type Silences interface {
	// AddSilence adds a silence; who is its author. ErrExists.
	AddSilence(ctx context.Context, who Author, s *silence.Silence) error
	// EndSilence ends a silence early. The deliveries that the silence holds back become due at once. It changes
	// nothing where the silence has ended already; ended tells whether this call ended it. ErrNotFound.
	EndSilence(ctx context.Context, who Author, id string, at time.Time) (ended bool, err error)
	// Silence returns one silence. ErrNotFound.
	Silence(ctx context.Context, id string) (silence.Silence, error)
	SilenceReader
	// CountSilenced counts by silence id what each silence holds back now.
	CountSilenced(ctx context.Context) (map[string]SilenceCount, error)
}

// SilenceReader reads silences.
type SilenceReader interface {
	// Silences returns all silences that the ledger keeps, the latest first.
	Silences(ctx context.Context) ([]silence.Silence, error)
}

// SilenceCount is how much a silence holds back. A finding counts for every silence that holds it back. A delivery
// counts for one silence only, because one silence holds it back.
type SilenceCount struct {
	Findings   int
	Deliveries int // to push channels
}
