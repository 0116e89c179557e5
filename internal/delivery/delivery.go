package delivery

import (
	"errors"
	"log/slog"
	"slices"
	"time"

	"tallyman/internal/notice"
)

// Delivery is one notice on its way to one sink.
type Delivery struct {
	Seq        int64 // the ledger's number; ascending in the order of commit within a lane
	Notice     *notice.Notice
	Recipients []string // of the inbox and of push channels: user:<id> or role:<id>, sorted; one alone where each gets a delivery of their own
}

// Attempt is one call of a sink for a delivery, and how the call ended.
type Attempt struct {
	At      time.Time     // when it began; zero = just now
	Took    time.Duration // 0 = nobody has measured it
	Status  int           // the code of the other side's answer, of HTTP or SMTP; 0 = it gave none
	Error   string        // "" = the sink has taken the delivery; without secrets
	Refused bool          // the sink will never take the delivery, however often it is asked
}

// KeptAttempts is how many attempts of a delivery are kept: the last ones.
const KeptAttempts = 20

// Receipt is a sink's answer for one delivery.
type Receipt struct {
	Seq   int64
	Score int64  // inbox only: the warehouse clock it was given; the ledger records it
	Epoch string // inbox only: the epoch that the score belongs to
}

// The answers of the ledger that a sink tells apart.
var (
	ErrNotFound = errors.New("ledger: not found")
	ErrFenced   = errors.New("ledger: the claim was lost to another node")
)

// Lane is what is delivered in order: a sink and, for the inbox, a warehouse. One node at a time drains it.
type Lane struct {
	Sink      string
	Warehouse string
}

// ScoredDelivery is a delivery that the inbox had, with the score it was given.
type ScoredDelivery struct {
	Delivery
	Score int64
}

// Origin is the notice of a delivery: what a ledger that was restored does not give to the same number a second time.
type Origin struct {
	Notice  string
	Created time.Time
}

// Mark is what a user did with a notice in a warehouse: it has read it, or acked it, too.
type Mark struct {
	Notice    string
	Warehouse string
	User      string // user:<id>
	Acked     bool
	At        time.Time
	Expires   time.Time // the notice
}

// Watermark says that a user has read everything in an inbox up to a score.
type Watermark struct {
	Warehouse string
	User      string // user:<id>
	Inbox     string // user:<id> or role:<id>
	Score     int64
	At        time.Time // when it rose last
}

// IndexState is the generation of an index in Redis, as the ledger records it.
type IndexState struct {
	Epoch    string
	RunIDs   []string // of the Redis servers it was built on, sorted
	Building bool     // a node is writing it back; after Lease another may begin anew
	Node     string
	Lease    time.Time // by the clock of whoever asks
}

// LogEntry are deliveries as logs name them: by the ids of their notices, and of the runs (or requests) that made those. They are worked
// out only where the line is written.
type LogEntry []Delivery

// mostLogged is how many of a kind a line names.
const mostLogged = 20

// LogValue implements slog.LogValuer.
func (l LogEntry) LogValue() slog.Value {
	var ids, runs []string
	for i := range l {
		n := l[i].Notice
		if len(ids) < mostLogged {
			ids = append(ids, n.ID)
		}
		if run := n.Origin().String(); len(runs) < mostLogged && !slices.Contains(runs, run) {
			runs = append(runs, run)
		}
	}
	return slog.GroupValue(slog.Int("count", len(l)), slog.Any("ids", ids), slog.Any("runs", runs))
}
