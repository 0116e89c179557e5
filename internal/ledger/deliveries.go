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

// Deliveries keeps the deliveries to sinks, and what operators do to them.
type Deliveries interface {
	delivery.Lanes
	delivery.Pushes
	DeliveryOperations
	Sends
	// CountPending returns the number of pending deliveries by sink. CountPending is cheap enough for callers that
	// poll.
	CountPending(ctx context.Context) (map[string]int64, error)
	DeliveryCounts
}

// DeliveryOperations is what operators do to deliveries of all kinds.
type DeliveryOperations interface {
	DeliveryList
	// Delivery returns one delivery. ErrNotFound.
	Delivery(ctx context.Context, seq int64) (DeliveryRecord, error)
	// RetryDeliveries makes failed, timed-out and canceled deliveries pending again. Each is due at once, unless an
	// earlier delivery of its finding is open. A timed delivery gets its whole time again. Earlier attempts no longer
	// count for the strategy. An ended delivery loses its `unless`, so no event cancels it any more.
	//
	// A delivery that is pending under a strategy and not claimed becomes due at once. All other deliveries stay as
	// they are, and so do deliveries whose notice has expired, unless the strategy has until: sent.
	//
	// RetryDeliveries returns the numbers of the changed deliveries, which share one audit record, and the lanes to
	// wake.
	RetryDeliveries(ctx context.Context, who Author, seqs []int64) (changed []int64, lanes []Lane, err error)
	// CancelDeliveries ends pending deliveries, with the reason. CancelDeliveries returns the numbers of the changed
	// deliveries, which share one audit record.
	CancelDeliveries(ctx context.Context, who Author, seqs []int64, reason string) (changed []int64, err error)
}

// DeliveryCounts counts deliveries.
type DeliveryCounts interface {
	// CountDeliveries returns the number of deliveries by sink and state, up to MostCounted of each.
	CountDeliveries(ctx context.Context) (map[string]map[DeliveryState]int64, error)
	// OldestPending returns by sink since when its oldest pending delivery waits. A delivery waits from the creation
	// of its notice; under a strategy, from the time of its first attempt. Deliveries that a silence holds back, and
	// deliveries behind another one, do not count. A time in the future means that no delivery of the sink is due
	// yet.
	OldestPending(ctx context.Context) (map[string]time.Time, error)
	// OldestFailed returns by sink when the earliest of its failed deliveries failed. OldestFailed looks at up to
	// MostCounted of them.
	OldestFailed(ctx context.Context) (map[string]time.Time, error)
	// DeliveryCauses groups the failed and timed-out deliveries of one warehouse ("" = all) by cause. DeliveryCauses
	// looks at up to MostCounted deliveries of each sink and state.
	DeliveryCauses(ctx context.Context, warehouse string) ([]DeliveryCause, error)
}

// DeliveryCause counts the deliveries of a sink in one state that were not sent for the same cause.
type DeliveryCause struct {
	Sink  string
	State DeliveryState
	Cause string
	Count int64
	Last  int64  // number of the latest of these deliveries
	Error string // error of the delivery Last
}

// A cause is a status, such as 503, or one of these words. CauseRefused may carry the status after a colon, as in
// refused:422: the receiver refused the delivery for good.
const (
	CauseRefused    = "refused"
	CauseTimeout    = "timeout"    // The receiver did not answer in time.
	CauseUnanswered = "unanswered" // There was no answer for another reason.
	CauseNone       = "none"       // Nobody tried the delivery.
)

// CauseFits tells whether cause is well formed.
func CauseFits(cause string) bool {
	switch cause {
	case CauseRefused, CauseTimeout, CauseUnanswered, CauseNone:
		return true
	}
	status, err := strconv.Atoi(strings.TrimPrefix(cause, CauseRefused+":"))
	return err == nil && status >= 2 && status <= 999
}

// RefusedForGood tells whether the receiver will never take deliveries with this cause.
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
	// Only pending deliveries that wait behind another one or for the end of a silence.
	Held   bool
	Cause  string // why the deliveries were not sent; see DeliveryCause
	Oldest bool   // the oldest first
	Before int64  // numbers below this one
	After  int64  // numbers above this one
	Limit  int    // at least 1
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
	Strategy *delivery.Strategy     // nil for the inbox and for queues
	// Time of the next attempt; zero unless pending under a strategy, and zero while Behind.
	Next     time.Time
	Deadline time.Time          // when a timed delivery gives up
	Behind   bool               // The delivery waits for an earlier one of its finding.
	InFront  int64              // with Behind: number of the delivery that goes first
	HeldBy   string             // id of the silence that holds the delivery back until Next; "" = none
	Node     string             // name of the node that has claimed the delivery now
	Tried    []delivery.Attempt // the last attempts, the latest first; empty in lists of deliveries
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

// MostCounted bounds how many deliveries of a sink in a state are counted. Without a bound a query would get slower
// with every month of use. For exact totals use the metric tallyman_deliveries_total.
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

// Lane is a sequence of deliveries that go out in order; see delivery.Lane.
type Lane = delivery.Lane

// Sends takes the notices that a business system sends itself.
type Sends interface {
	// Send writes notices with their deliveries in one transaction, as Commit does. A notice whose id the ledger
	// already has changes nothing, and Send answers with the existing notice. Where an existing notice came with
	// another request, Send writes nothing at all. ErrInvalid where CheckSend finds a fault.
	Send(ctx context.Context, notices []NewNotice) (SentNotices, error)
	// Sent answers as Send does, for notices that exist already. Sent writes nothing.
	Sent(ctx context.Context, notices []NewNotice) (SentNotices, error)
}

// CheckSend returns an ErrInvalid that names the first notice beyond the limits. Every engine calls it, even if the
// caller has checked before.
func CheckSend(notices []NewNotice) error {
	refuse := func(at string, faults []notice.Fault) error {
		for _, f := range faults {
			return fmt.Errorf("%w: %s%s of the request: %s", ErrInvalid, at, f.At, f.Message)
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
			faults = append(faults, notice.Fault{At: "deliver", Message: fmt.Sprintf("it goes to %d sinks; at most %d are allowed", len(n.Sinks), notice.MaxSinks)})
		}
		if err := refuse(fmt.Sprintf("notices[%d].", i), faults); err != nil {
			return err
		}
	}
	return refuse("", notice.CheckRequest(len(notices), all))
}

// SentNotices is the answer to Send and Sent.
type SentNotices struct {
	List  []SentNotice // in the order of the given notices
	Lanes []Lane       // lanes that have new deliveries
}

// SentNotice is the answer for one notice.
type SentNotice struct {
	ID           string
	Existing     bool // The ledger had the notice before this call.
	Other        bool // The existing notice came with another request: its episode differs.
	Deliveries   int  // number of deliveries of the notice to the given sinks
	Unsubscribed int  // deliveries that were not made, because nobody has subscribed
}
