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

// SubscriptionSyncer keeps the subscriptions that a query of a source returns. The name of the source is their origin. A subscription that was made by
// hand has none; where the query returns it too, it stays what it is.
type SubscriptionSyncer interface {
	SubscriptionOrigins
	// TakeSubscriptions makes the subscriptions of the origin the list, with one record of what has changed. A list that would remove more than half of them waits:
	// Waits of the origin is that list. ErrFenced after a later claim, ErrNotFound for an unknown type, ErrInvalid.
	TakeSubscriptions(ctx context.Context, who Author, origin string, token int64, subs []Subscription) (OriginChange, error)
	// ConfirmSubscriptions takes the list that waits and has the hash. ErrOtherList where none waits, or another one does; ErrNotFound for an unknown type.
	ConfirmSubscriptions(ctx context.Context, who Author, origin, hash string) (OriginChange, error)
	// ReleaseSubscriptions makes all subscriptions of the origin ones that were made by hand, and forgets the origin. ErrNotFound.
	ReleaseSubscriptions(ctx context.Context, who Author, origin string) (released int, err error)
}

// SubscriptionOrigins reads how the origins of subscriptions stand.
type SubscriptionOrigins interface {
	// SubscriptionOrigins returns them by name.
	SubscriptionOrigins(ctx context.Context) ([]SubscriptionOrigin, error)
}

// ErrHasOrigin says that a subscription is not one that people change.
var ErrHasOrigin = errors.New("ledger: the subscription comes from a source")

// SubscriptionOrigin is how the subscriptions of a source stand. Its name is that of the source.
type SubscriptionOrigin struct {
	OriginState
	Subscriptions int
	Waits         *WaitingList
}

// WaitingList is a list that waits for an operator, since it removes more than half of the subscriptions.
type WaitingList struct {
	Hash           string
	Since          time.Time
	Added, Removed []Subscription // as things stand
}

// OriginChange is what a list has changed.
type OriginChange struct {
	Added, Removed []Subscription
	Waits          bool // nothing was changed: the list waits
}

// RemovesTooMany tells whether so many of all subscriptions of an origin are more than goes without an operator.
func RemovesTooMany(removed, all int) bool { return 2*removed > all }

// SortSubscriptions puts them in the order of lists, each once.
func SortSubscriptions(subs []Subscription) []Subscription {
	sorted := slices.Clone(subs)
	slices.SortFunc(sorted, func(a, b Subscription) int { return strings.Compare(a.key(), b.key()) })
	return slices.Compact(sorted)
}

func (s Subscription) key() string { return s.Type + "\n" + s.Warehouse + "\n" + s.Subscriber }

// HashOfSubscriptions stands for a sorted list.
func HashOfSubscriptions(sorted []Subscription) string {
	h := sha256.New()
	for _, s := range sorted {
		fmt.Fprintf(h, "%s\n\n", s.key())
	}
	return hex.EncodeToString(h.Sum(nil)[:8])
}

// DifferentSubscriptions are those that the wanted list has and the present one has not, and the other way round; both are of one origin.
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
