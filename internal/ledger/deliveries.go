package ledger

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"tallyman/internal/delivery"
	"tallyman/internal/notice"
)

// Deliveries is what is on its way to sinks, and what operators do to it.
type Deliveries interface {
	delivery.Lanes
	delivery.Pushes
	DeliveryOperations
	Sends
	// CountPending returns the number of pending deliveries by sink, for those who ask often.
	CountPending(ctx context.Context) (map[string]int64, error)
	DeliveryCounts
}

// DeliveryOperations is what operators do to deliveries of every kind.
type DeliveryOperations interface {
	DeliveryList
	// Delivery returns one. ErrNotFound.
	Delivery(ctx context.Context, seq int64) (DeliveryRecord, error)
	// RetryDeliveries makes those that failed, timed out or were canceled pending again, due at once: a timed one has all its time anew,
	// its strategy counts attempts from here on, and what canceled one before does not do so again. Those that are pending under a strategy and not claimed become due at once. Others, and those whose notice has expired without until: sent, stay as
	// they are. It returns the numbers that changed, which have one record together, and the lanes to wake.
	RetryDeliveries(ctx context.Context, who Author, seqs []int64) (changed []int64, lanes []Lane, err error)
	// CancelDeliveries ends those that are pending, with the reason. It returns the numbers that changed, which have one record together.
	CancelDeliveries(ctx context.Context, who Author, seqs []int64, reason string) (changed []int64, err error)
}

// DeliveryCounts counts deliveries.
type DeliveryCounts interface {
	// CountDeliveries returns the number of deliveries by sink and state, up to MostCounted of each.
	CountDeliveries(ctx context.Context) (map[string]map[DeliveryState]int64, error)
	// OldestPending returns by sink since when its oldest pending delivery waits: since its notice was made; under a strategy since it may be tried
	// first. One that a silence holds back or that is behind another waits for those. A time that is to come = none has had its time yet.
	OldestPending(ctx context.Context) (map[string]time.Time, error)
	// OldestFailed returns by sink when the first failed of up to MostCounted deliveries that have failed.
	OldestFailed(ctx context.Context) (map[string]time.Time, error)
	// DeliveryCauses groups what failed or timed out by why it did, of one warehouse ("" = all): it looks at up to MostCounted deliveries of each sink
	// and state.
	DeliveryCauses(ctx context.Context, warehouse string) ([]DeliveryCause, error)
}

// DeliveryCause is why deliveries of a sink in a state were not sent.
type DeliveryCause struct {
	Sink  string
	State DeliveryState
	Cause string
	Count int64
	Last  int64  // the number of the latest of them
	Error string // of that one
}

// What a cause can be beside a status, such as 503: one that the other side refused for good is CauseRefused, or begins with it and has the
// status behind a colon.
const (
	CauseRefused    = "refused"
	CauseTimeout    = "timeout"    // no answer in time
	CauseUnanswered = "unanswered" // no answer otherwise
	CauseNone       = "none"       // no attempt was made
)

// CauseFits tells whether there can be a cause of that name.
func CauseFits(cause string) bool {
	switch cause {
	case CauseRefused, CauseTimeout, CauseUnanswered, CauseNone:
		return true
	}
	status, err := strconv.Atoi(strings.TrimPrefix(cause, CauseRefused+":"))
	return err == nil && status >= 2 && status <= 999
}

// RefusedForGood tells whether the other side will never take deliveries that failed for the cause.
func RefusedForGood(cause string) bool { return strings.HasPrefix(cause, CauseRefused) }

// DeliveryList lists deliveries as operators see them.
type DeliveryList interface {
	// ListDeliveries returns deliveries, the latest first unless the filter says otherwise.
	ListDeliveries(ctx context.Context, f DeliveryFilter) ([]DeliveryRecord, error)
}

// DeliveryFilter narrows a list; zero values narrow nothing.
type DeliveryFilter struct {
	Sink, Warehouse, Type, Rule, Notice string
	States                              []DeliveryState
	Held                                bool   // pending ones that wait for more than their time: behind another, or held back by a silence
	Cause                               string // why they were not sent; see DeliveryCause
	Oldest                              bool   // the oldest first
	Before                              int64  // numbers below this one
	After                               int64  // numbers above this one
	Limit                               int    // at least 1
}

// DeliveryRecord is a delivery as operators see it.
type DeliveryRecord struct {
	DeliveryTrace

	Notice   string // its id
	Type     string
	Rule     string
	Status   string // of the notice
	Where    string // the notice's warehouse
	Title    string
	Texts    map[string]notice.Text // the notice in other languages than its first
	Created  time.Time              // of the notice
	Expires  time.Time              // of the notice
	Strategy *delivery.Strategy     // nil of the inbox and of queues
	Next     time.Time              // of the next attempt; zero unless pending under a strategy, or while Behind
	Deadline time.Time              // of a timed one
	Behind   bool                   // it waits for an earlier delivery of its finding
	InFront  int64                  // Behind: the number of the one of its finding that goes first
	HeldBy   string                 // the silence that holds it back until Next; "" = none does
	Node     string                 // the name of the node that has it claimed now
	Tried    []delivery.Attempt     // the last ones, the latest first; a list of deliveries is without them
}

// DeliveryState is how a delivery stands. The numbers are the flags that the WMS knows.
type DeliveryState int16

// The states.
const (
	DeliveryPending  DeliveryState = 0
	DeliverySent     DeliveryState = 1
	DeliveryFailed   DeliveryState = 2
	DeliveryTimedOut DeliveryState = 3
	DeliveryCanceled DeliveryState = 4
)

// MostCounted is how far the deliveries of a sink in a state are counted: who looks at a sink should not have to wait because it has been in use for
// months. Whoever wants to know more counts what happens (tallyman_deliveries_total).
const MostCounted = 10_000

// String returns the name that output uses.
func (s DeliveryState) String() string {
	switch s {
	case DeliveryPending:
		return "pending"
	case DeliverySent:
		return "sent"
	case DeliveryFailed:
		return "failed"
	case DeliveryTimedOut:
		return "timed_out"
	case DeliveryCanceled:
		return "canceled"
	default:
		return strconv.Itoa(int(s))
	}
}

// Lane is what is delivered in order; see sinks.Lane.
type Lane = delivery.Lane

// Sends is how a business system's own notices enter.
type Sends interface {
	// Send writes notices with their deliveries, as Commit does, in one transaction. One whose id the ledger has already changes nothing
	// and is answered with what is there. Where what is there is of another request, nothing is written at all. ErrInvalid where CheckSend
	// finds something.
	Send(ctx context.Context, notices []NewNotice) (SentNotices, error)
	// Sent answers as Send does for what is there already, and writes nothing.
	Sent(ctx context.Context, notices []NewNotice) (SentNotices, error)
}

// CheckSend returns an ErrInvalid that names the first notice that is beyond the limits of what is sent. Every ledger asks it, whoever has asked
// before.
func CheckSend(notices []NewNotice) error {
	refuse := func(at string, faults []notice.Fault) error {
		for _, f := range faults {
			return fmt.Errorf("%w: %s%s of what is sent: %s", ErrInvalid, at, f.At, f.Message)
		}
		return nil
	}
	all := 0
	for i := range notices {
		n := &notices[i]
		most := 0
		for j := range n.Sinks {
			most = max(most, len(n.Sinks[j].Recipients))
		}
		all += most
		faults := append(notice.CheckSent(n.Notice), notice.CheckRecipients(most)...)
		if len(n.Sinks) > notice.MaxSinks {
			faults = append(faults, notice.Fault{At: "deliver", Message: fmt.Sprintf("it goes to %d sinks, %d are the most", len(n.Sinks), notice.MaxSinks)})
		}
		if err := refuse(fmt.Sprintf("notices[%d].", i), faults); err != nil {
			return err
		}
	}
	return refuse("", notice.CheckRequest(len(notices), all))
}

// SentNotices is the answer to Send and Sent.
type SentNotices struct {
	List  []SentNotice // as the notices were given
	Lanes []Lane       // with something new to deliver
}

// SentNotice is what became of one notice.
type SentNotice struct {
	ID           string
	Existing     bool // it was there before
	Other        bool // and what is there came with another request: its episode is another one
	Deliveries   int  // made
	Unsubscribed int  // deliveries not made, for want of a subscriber
}
