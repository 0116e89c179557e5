package ledger

import (
	"context"
	"errors"
	"time"
)

// OriginKind says what the query of a source lists.
type OriginKind string

// The kinds of origins.
const (
	OriginSubscriptions OriginKind = "subscriptions" // the name of the origin is the name of the source
	OriginScopes        OriginKind = "scopes"        // the name of the origin is the id of the rule
)

// OriginKey names an origin.
type OriginKey struct {
	Kind OriginKind
	Name string
}

// OriginClaim asks for the right to query a source next.
type OriginClaim struct {
	OriginKey
	Question string // identifies the query; see Anew
	// Anew claims at once if Question differs from the question of the last claim. Anew has no effect while that claim
	// has no answer. A node sets Anew when it takes up a changed query.
	Anew   bool
	Every  time.Duration // interval between two queries of the whole cluster
	Within time.Duration // time for an answer: a younger claim without an answer keeps out all others
}

// OriginKeeper lets one node of the cluster at a time query a source for a list.
type OriginKeeper interface {
	// ClaimOrigin claims the right to query the source. The next claim ends the token of this one.
	ClaimOrigin(ctx context.Context, c OriginClaim) (token int64, claimed bool, err error)
	// FailOrigin records why the source gave no list; the last list stays in force. ErrFenced.
	FailOrigin(ctx context.Context, origin OriginKey, token int64, reason string) error
}

// OriginState is the state of an origin of either kind.
type OriginState struct {
	Name        string
	Asked       time.Time // when a node last queried the source
	Answered    time.Time // when the source last returned a list; zero = never
	FailedSince time.Time // zero = the last query returned a list
	Error       string    // error of the last query
}

// ErrOtherList says that the list to be confirmed is not the list that waits.
var ErrOtherList = errors.New("ledger: another list waits")
