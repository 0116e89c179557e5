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
	Seq    int64 // the ledger's number; ascending in the order of commit within a lane
	Notice *notice.Notice
	// Set for the inbox and for push channels: user:<id> or role:<id>, sorted. Where each recipient gets a delivery of
	// their own, the list has one entry.
	Recipients []string
}

// Attempt is one call of a sink for a delivery, and how the call ended.
type Attempt struct {
	At      time.Time     // when the call began; zero = now
	Took    time.Duration // 0 = not measured
	Status  int           // status code of the receiver's answer, HTTP or SMTP; 0 = no answer
	Error   string        // "" = the sink took the delivery; contains no secrets
	Refused bool          // The sink will never take the delivery, however often it is tried.
}

// KeptAttempts is the number of attempts that the ledger keeps of a delivery: the last ones.
const KeptAttempts = 20

// Receipt is a sink's answer for one delivery.
type Receipt struct {
	Seq   int64
	Score int64  // inbox only: the value of the warehouse clock that the inbox gave the delivery; the ledger records it
	Epoch string // inbox only: the epoch of the score
}

// The errors of the ledger that a sink tells apart.
var (
	ErrNotFound = errors.New("ledger: not found")
	ErrFenced   = errors.New("ledger: the claim is not in force any more")
)

// Lane is a sequence of deliveries that go out in order: the deliveries to one sink and, for the inbox, to one
// warehouse. Only one node at a time drains a lane.
type Lane struct {
	Sink      string
	Warehouse string
}

// ScoredDelivery is a delivery in the inbox with its score.
type ScoredDelivery struct {
	Delivery
	Score int64
}

// Origin identifies the notice of a delivery. A restored ledger may give the number of a delivery to another delivery;
// Origin distinguishes the two.
type Origin struct {
	Notice  string
	Created time.Time
}

// Mark says that a user has read or acked a notice in a warehouse. An ack is also a read.
type Mark struct {
	Notice    string
	Warehouse string
	User      string // user:<id>
	Acked     bool
	At        time.Time
	Expires   time.Time // when the notice expires
}

// Watermark says that a user has read everything in an inbox up to a score.
type Watermark struct {
	Warehouse string
	User      string // user:<id>
	Inbox     string // user:<id> or role:<id>
	Score     int64
	At        time.Time // when the watermark rose last
}

// IndexState is the generation of an index in Redis, as the ledger records it.
type IndexState struct {
	Epoch    string
	RunIDs   []string  // run ids of the Redis servers that the index was built on, sorted
	Building bool      // A node is rebuilding the index. After Lease another node may begin a new rebuild.
	Node     string    // the node that rebuilds
	Lease    time.Time // end of the rebuilding node's lease, by the clock of the caller
}

// LogEntry shows deliveries in logs by the ids of their notices, and of the runs or requests that made the notices.
// The ids are computed only where the log line is written.
type LogEntry []Delivery

// mostLogged bounds how many ids of each kind a log line has.
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
