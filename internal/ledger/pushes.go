package ledger

import (
	"context"
	"fmt"
	"time"

	"tallyman/internal/delivery"
	"tallyman/internal/notice"
)

// Channels is what push channels need besides, and those who send, read and search for what goes through them.
type Channels interface {
	Pushes
	Operated
	Search
	Marks
	Book
	Sends
}

// Pushes is what package delivery needs: the deliveries to push channels, each under its strategy. Deliveries of one finding to
// one sink go in order: only the first open one of them is ever claimed. All times are those of the database's clock.
type Pushes interface {
	// ClaimPushes gives the node up to limit deliveries of the sink that are due, the earliest first. Each stays claimed for
	// the lease, unless it is settled before; then any node may claim it again. What has passed its deadline, or whose notice has
	// expired, is never claimed.
	ClaimPushes(ctx context.Context, sink, node string, lease time.Duration, limit int) (delivery.Claims, error)
	// SettlePushes records how attempts ended, in one transaction. Sent is recorded whoever has the claim by now, also of what was
	// canceled, failed or timed out meanwhile, because it is true. Everything else is recorded only under the token of the last claim and
	// while the delivery is pending. What ends lets the next delivery of its finding go.
	SettlePushes(ctx context.Context, settled []delivery.Settled) error
	// EndPushes ends pending deliveries of the sink, at most limit: as timed_out those past their deadline, as canceled those whose
	// notice has expired. One that is claimed is ended too: if its attempt succeeds all the same, it is recorded as sent.
	EndPushes(ctx context.Context, sink string, limit int) (timedOut, canceled int, err error)
}

// Operated is what operators do to deliveries of every kind.
type Operated interface {
	// ListDeliveries returns deliveries, the latest first.
	ListDeliveries(ctx context.Context, f DeliveryFilter) ([]DeliveryRecord, error)
	// Delivery returns one. ErrNotFound.
	Delivery(ctx context.Context, seq int64) (DeliveryRecord, error)
	// RetryDeliveries makes those that failed, timed out or were canceled pending again, due at once: a timed one has all its time anew,
	// its strategy counts attempts from here on, and what canceled one before does not do so again. Those that are pending under a strategy and not claimed become due at once. Others, and those whose notice has expired, stay as
	// they are. It returns the numbers that changed, which have one record together, and the lanes to wake.
	RetryDeliveries(ctx context.Context, who Author, seqs []int64) (changed []int64, lanes []Lane, err error)
	// CancelDeliveries ends those that are pending, with the reason. It returns the numbers that changed, which have one record together.
	CancelDeliveries(ctx context.Context, who Author, seqs []int64, reason string) (changed []int64, err error)
}

// DeliveryFilter narrows a list; zero values narrow nothing.
type DeliveryFilter struct {
	Sink, Warehouse, Type, Rule, Notice string
	States                              []DeliveryState
	Held                                bool  // pending ones that wait for more than their time: behind another, or held back by a silence
	Before                              int64 // numbers below this one
	Limit                               int   // at least 1
}

// DeliveryRecord is a delivery as operators see it.
type DeliveryRecord struct {
	TracedDelivery

	Notice   string // its id
	Type     string
	Rule     string
	Status   string // of the notice
	Where    string // the notice's warehouse
	Title    string
	Created  time.Time          // of the notice
	Expires  time.Time          // of the notice
	Strategy *delivery.Strategy // nil of the inbox and of queues
	Next     time.Time          // of the next attempt; zero unless pending under a strategy, or while Behind
	Deadline time.Time          // of a timed one
	Behind   bool               // it waits for an earlier delivery of its finding
	InFront  int64              // Behind: the number of the one of its finding that goes first
	HeldBy   string             // the silence that holds it back until Next; "" = none does
	Node     string             // that has it claimed now
}

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
