package delivery

import (
	"context"
	"time"
)

// Lanes is what the delivery loops need of the ledger.
type Lanes interface {
	// PendingLanes returns the lanes of the sink with anything pending that no living node drains.
	PendingLanes(ctx context.Context, sink string) ([]Lane, error)
	// AcquireLane takes the lane for node, or reports false while another node holds it.
	AcquireLane(ctx context.Context, lane Lane, node string, lease time.Duration) (bool, error)
	// ReleaseLane gives it up; a lane that another node holds by now is left alone.
	ReleaseLane(ctx context.Context, lane Lane, node string) error
	// Pending returns pending deliveries of the lane in the order of Seq, at most limit. Those of notices that
	// have expired are set to canceled instead of being returned.
	Pending(ctx context.Context, lane Lane, limit int) ([]Delivery, error)
	// MarkSent records the receipts, and counts the attempt, which is kept where others failed before. What is not pending stays as it is. Receipts of
	// an epoch that is not the recorded one any more are not recorded, since the rebuild of the new one may
	// have passed them: the deliveries stay pending and the answer is ErrFenced. So is that to a node that does not hold the
	// lane any more; "" asks nobody.
	MarkSent(ctx context.Context, node string, receipts []Receipt, made Attempt) error
	// MarkAttempt counts and keeps a failed attempt.
	MarkAttempt(ctx context.Context, seqs []int64, made Attempt) error
	// MarkFailed ends deliveries that can never succeed, by an attempt that counts and is kept.
	MarkFailed(ctx context.Context, seqs []int64, made Attempt) error
}

// Pushes is what the runner of a push channel needs of the ledger: the deliveries to push channels, each under its strategy. Deliveries of one finding to
// one sink go in order: only the first open one of them is ever claimed. All times are those of the database's clock.
type Pushes interface {
	// ClaimPushes gives the node up to limit deliveries of the sink that are due, the earliest first. Each stays claimed for
	// the lease, unless it is settled before; then any node may claim it again. What has passed its deadline, or whose notice has
	// expired, is never claimed; only until: sent outlives its notice.
	ClaimPushes(ctx context.Context, sink, node string, lease time.Duration, limit int) (Claims, error)
	// ReleasePushes gives back what the node has claimed of the sink, but for the deliveries that the node knows of: a claim whose answer was
	// lost holds what nobody tries.
	ReleasePushes(ctx context.Context, sink, node string, known []int64) error
	// SettlePushes records how attempts ended, in one transaction. Sent is recorded whoever has the claim by now, also of what was
	// canceled, failed or timed out meanwhile, because it is true. Everything else is recorded only under the token of the last claim and
	// while the delivery is pending. What ends lets the next delivery of its finding go.
	SettlePushes(ctx context.Context, settled []Settlement) error
	// EndPushes ends pending deliveries of the sink, at most limit: as timed_out those past their deadline, as canceled those whose
	// notice has expired, but for until: sent. One that is claimed is ended too: if its attempt succeeds all the same, it is recorded as sent.
	EndPushes(ctx context.Context, sink string, limit int) (timedOut, canceled int, err error)
}

// IndexRecord is what an index in Redis (the inbox, a queue) needs to tell its own life from another's.
type IndexRecord interface {
	// IndexState returns the recorded epoch and the Redis run ids it was built on; ErrNotFound before the first.
	IndexState(ctx context.Context, sink string) (IndexState, error)
	// BeginEpoch replaces the state if the recorded epoch is still prev ("" = none), otherwise ErrFenced:
	// another node was faster, or one is building it within its lease. The rebuild follows; Building is true
	// until FinishEpoch. next's Epoch and RunIDs count.
	BeginEpoch(ctx context.Context, sink, prev string, next IndexState, node string, lease time.Duration) error
	// FinishEpoch marks the rebuild as complete. ErrFenced if the epoch is not next any more.
	FinishEpoch(ctx context.Context, sink, epoch string) error
}

// InboxRecord is what the inbox needs besides to survive the loss of Redis.
type InboxRecord interface {
	// HighestScores returns the highest recorded score of each warehouse.
	HighestScores(ctx context.Context, sink string) (map[string]int64, error)
	// Delivered returns sent inbox deliveries of unexpired notices with a score above after, ascending by score.
	Delivered(ctx context.Context, lane Lane, after int64, limit int) ([]ScoredDelivery, error)
	// Origins returns of each delivery what its notice is. Deliveries that the ledger does not have are left out.
	Origins(ctx context.Context, seqs []int64) (map[int64]Origin, error)
}

// MarkRecord is what the index in Redis is written back from.
type MarkRecord interface {
	// LiveMarks pages through the marks of notices that have not expired, each once.
	LiveMarks(ctx context.Context, after Mark, limit int) ([]Mark, error)
	// RecentMarks pages through all marks in the order of their time. After may be one with a time alone.
	RecentMarks(ctx context.Context, after Mark, limit int) ([]Mark, error)
	// Watermarks pages through all watermarks in the order of their time. After may be one with a time alone.
	Watermarks(ctx context.Context, after Watermark, limit int) ([]Watermark, error)
}

// Addresses says where subscribers are reached by push channels.
type Addresses interface {
	// Subscribers returns the entries of the ids that have one.
	Subscribers(ctx context.Context, ids []string) (map[string]Subscriber, error)
}
