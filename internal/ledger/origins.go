package ledger

import (
	"context"
	"errors"
	"time"
)

// OriginKind says what a query of a source lists.
type OriginKind string

// The kinds of origins.
const (
	OriginSubscriptions OriginKind = "subscriptions" // the name of the origin is that of the source
	OriginScopes        OriginKind = "scopes"        // the name of the origin is the id of the rule
)

// OriginKey names an origin.
type OriginKey struct {
	Kind OriginKind
	Name string
}

// OriginClaim asks for the next question to a source.
type OriginClaim struct {
	OriginKey
	Question string // stands for the query; see Anew
	// Anew claims a question that differs from the last one at once. A node sets it when it takes up a query.
	Anew   bool
	Every  time.Duration // between two questions of the cluster
	Within time.Duration // for an answer: while a claim has none and is younger, nobody else claims
}

// OriginKeeper lets one node of the cluster at a time ask a source for a list, of whatever kind.
type OriginKeeper interface {
	// ClaimOrigin claims the next question. The token of a claim is over with the next one.
	ClaimOrigin(ctx context.Context, c OriginClaim) (token int64, claimed bool, err error)
	// FailOrigin records why the source has given no list; the last one stays. ErrFenced.
	FailOrigin(ctx context.Context, origin OriginKey, token int64, reason string) error
}

// OriginState is how an origin stands, of whatever kind.
type OriginState struct {
	Name        string
	Asked       time.Time // when a node last began to ask the source
	Answered    time.Time // when the source last gave a list; zero = never
	FailedSince time.Time // zero = the last answer was a list
	Error       string    // of the last answer
}

// ErrOtherList says that the list to be confirmed does not wait.
var ErrOtherList = errors.New("ledger: another list waits")
