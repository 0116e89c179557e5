package ledger

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// SubscriptionSyncer keeps the subscriptions that a query of a source returns. Their origin is the name of the
// source. A subscription made by hand has no origin, and keeps none where the query returns the same subscription.
type SubscriptionSyncer interface {
	SubscriptionOrigins
	// TakeSubscriptions replaces the subscriptions of the origin by the list, with one record of the differences. A
	// list that would remove more than half of them is not put in force: it waits for an operator, as
	// SubscriptionOrigin.Waits. ErrFenced after a later claim; ErrNotFound for an unknown type; ErrInvalid.
	TakeSubscriptions(ctx context.Context, who Author, origin string, token int64, subs []Subscription) (OriginChange, error)
	// ConfirmSubscriptions puts the waiting list with this hash in force. ErrOtherList where no list or another one
	// waits; ErrNotFound for an unknown type.
	ConfirmSubscriptions(ctx context.Context, who Author, origin, hash string) (OriginChange, error)
	// ReleaseSubscriptions turns all subscriptions of the origin into subscriptions made by hand, and removes the
	// origin. ErrNotFound.
	ReleaseSubscriptions(ctx context.Context, who Author, origin string) (released int, err error)
}

// SubscriptionOrigins reads the state of the origins of subscriptions.
type SubscriptionOrigins interface {
	// SubscriptionOrigins returns all origins of subscriptions, by name.
	SubscriptionOrigins(ctx context.Context) ([]SubscriptionOrigin, error)
}

// ErrHasOrigin says that a subscription comes from a source, so that people cannot change it.
var ErrHasOrigin = errors.New("ledger: the subscription comes from a source, which would list it again; change it in the source")

// SubscriptionOrigin is the state of the subscriptions of one source. Its name is the name of the source.
type SubscriptionOrigin struct {
	OriginState
	Subscriptions int
	Waits         *WaitingList
}

// WaitingList is a list that waits for an operator, because it would remove more than half of the subscriptions.
type WaitingList struct {
	Hash           string
	Since          time.Time
	Added, Removed []Subscription // compared with the subscriptions in force
}

// OriginChange is what a new list has changed.
type OriginChange struct {
	Added, Removed []Subscription
	Waits          bool // The list waits for an operator; nothing was changed.
}

// RemovesTooMany tells whether a list that removes so many of all subscriptions of an origin needs an operator.
func RemovesTooMany(removed, all int) bool { return 2*removed > all }

// SortSubscriptions returns the subscriptions sorted and without duplicates.
func SortSubscriptions(subs []Subscription) []Subscription {
	sorted := slices.Clone(subs)
	slices.SortFunc(sorted, func(a, b Subscription) int { return strings.Compare(a.key(), b.key()) })
	return slices.Compact(sorted)
}

func (s Subscription) key() string { return s.Type + "\n" + s.Warehouse + "\n" + s.Subscriber }

// HashOfSubscriptions returns a short hash of a sorted list.
func HashOfSubscriptions(sorted []Subscription) string {
	h := sha256.New()
	for _, s := range sorted {
		fmt.Fprintf(h, "%s\n\n", s.key())
	}
	return hex.EncodeToString(h.Sum(nil)[:8])
}

// DifferentSubscriptions compares two lists of one origin: added are in wanted only, removed are in present only.
func DifferentSubscriptions(present, wanted []Subscription) (added, removed []Subscription) {
	return without(wanted, present), without(present, wanted)
}

func without(list, others []Subscription) []Subscription {
	known := make(map[string]bool, len(others))
	for _, s := range others {
		known[s.key()] = true
	}
	return slices.DeleteFunc(slices.Clone(list), func(s Subscription) bool { return known[s.key()] })
}
