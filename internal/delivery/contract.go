package delivery

import (
	"context"
	"time"
)

// Lanes is the part of the ledger that delivery loops call.
type Lanes interface {
	// PendingLanes returns the lanes of the sink that have pending deliveries and that no living node drains.
	PendingLanes(ctx context.Context, sink string) ([]Lane, error)
	// AcquireLane takes the lane for node, or reports false while another node holds it.
	AcquireLane(ctx context.Context, lane Lane, node string, lease time.Duration) (bool, error)
	// ReleaseLane gives up the lane. ReleaseLane changes nothing where another node holds the lane by now.
	ReleaseLane(ctx context.Context, lane Lane, node string) error
	// Pending returns pending deliveries of the lane in the order of Seq, at most limit. Pending cancels the deliveries
	// whose notice has expired, and does not return them.
	Pending(ctx context.Context, lane Lane, limit int) ([]Delivery, error)
	// MarkSent records the receipts and counts the attempt. It keeps the attempt only where earlier attempts failed.
	// A delivery that is not pending stays as it is.
	//
	// MarkSent does not record two kinds of receipts: receipts of an epoch that is no longer in force, and receipts in a
	// lane that node no longer holds. MarkSent then records the other receipts and returns ErrFenced. The rebuild of a
	// newer epoch may have passed such a delivery, so the delivery must stay pending. If node is empty, MarkSent does
	// not check the lane.
	MarkSent(ctx context.Context, node string, receipts []Receipt, made Attempt) error
	// MarkAttempt counts and keeps a failed attempt. The deliveries stay pending.
	MarkAttempt(ctx context.Context, seqs []int64, made Attempt) error
	// MarkFailed ends deliveries that can never succeed. MarkFailed counts and keeps the attempt.
	MarkFailed(ctx context.Context, seqs []int64, made Attempt) error
}

// Pushes is the part of the ledger that the runner of a push channel calls. Pushes has the deliveries to push channels,
// each under its strategy. Deliveries of one finding to one sink go in order: a node can claim only the first open one.
// All times are those of the database's clock.
type Pushes interface {
	// ClaimPushes gives the node up to limit deliveries of the sink that are due, the earliest first. Each stays
	// claimed until it is settled or the lease ends; then any node may claim it again. A delivery is never claimed
	// after its deadline. After its notice has expired, it is claimed only with until: sent.
	ClaimPushes(ctx context.Context, sink, node string, lease time.Duration, limit int) (Claims, error)
	// ReleasePushes gives back the deliveries of the sink that the node has claimed, except those in known. When the
	// answer to a claim is lost, the ledger has claims that no node works on. This call frees them.
	ReleasePushes(ctx context.Context, sink, node string, known []int64) error
	// SettlePushes records how attempts ended, in one transaction. A sent delivery is always recorded, because the
	// receiver has the notice. That holds even if another node has the claim now, or the delivery was canceled, failed
	// or timed out meanwhile. All other results are recorded only under the token of the last claim, and only while the
	// delivery is pending. After the end of a delivery the next delivery of its finding can go.
	SettlePushes(ctx context.Context, settled []Settlement) error
	// EndPushes ends pending deliveries of the sink, at most limit. Deliveries past their deadline end as timed_out.
	// Deliveries of expired notices end as canceled, except with until: sent. EndPushes also ends claimed deliveries. If
	// the running attempt then succeeds, the delivery is recorded as sent.
	EndPushes(ctx context.Context, sink string, limit int) (timedOut, canceled int, err error)
}

// IndexRecord is the part of the ledger with the epochs of an index in Redis (the inbox, a queue). The epoch of an
// index distinguishes the data of the index from the data of an earlier Redis.
type IndexRecord interface {
	// IndexState returns the recorded epoch, and the run ids of the Redis servers that the epoch was built on.
	// ErrNotFound before the first epoch.
	IndexState(ctx context.Context, sink string) (IndexState, error)
	// BeginEpoch starts the epoch next and so begins a rebuild. BeginEpoch succeeds only while the recorded epoch is
	// prev ("" = none). ErrFenced: another node was faster, or another node is rebuilding under a lease in force.
	// Building is true until FinishEpoch. Only Epoch and RunIDs of next are used.
	BeginEpoch(ctx context.Context, sink, prev string, next IndexState, node string, lease time.Duration) error
	// FinishEpoch marks the rebuild as complete. ErrFenced if epoch is not the recorded one any more.
	FinishEpoch(ctx context.Context, sink, epoch string) error
}

// InboxRecord is the part of the ledger from which the inbox is rebuilt after Redis has lost its data.
type InboxRecord interface {
	// HighestScores returns the highest recorded score of each warehouse.
	HighestScores(ctx context.Context, sink string) (map[string]int64, error)
	// Delivered returns sent inbox deliveries of unexpired notices with a score above after, in ascending order of
	// score.
	Delivered(ctx context.Context, lane Lane, after int64, limit int) ([]ScoredDelivery, error)
	// Origins returns the notice of each delivery. Origins leaves out deliveries that the ledger does not have.
	Origins(ctx context.Context, seqs []int64) (map[int64]Origin, error)
}

// MarkRecord is the part of the ledger from which the marks in Redis are rebuilt.
type MarkRecord interface {
	// LiveMarks pages through the marks of notices that have not expired. LiveMarks returns each mark once.
	LiveMarks(ctx context.Context, after Mark, limit int) ([]Mark, error)
	// RecentMarks pages through all marks in the order of their time. The argument after may have only its time At.
	RecentMarks(ctx context.Context, after Mark, limit int) ([]Mark, error)
	// Watermarks pages through all watermarks in the order of their time. The argument after may have only its time At.
	Watermarks(ctx context.Context, after Watermark, limit int) ([]Watermark, error)
}

// Addresses reads the addresses at which push channels reach subscribers.
type Addresses interface {
	// Subscribers returns the entries of the address book for the ids. An id without an entry is left out.
	Subscribers(ctx context.Context, ids []string) (map[string]Subscriber, error)
}
