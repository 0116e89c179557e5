package store

import (
	"context"
	"fmt"
	"math"
	"time"

	"tallyman/internal/delivery"
	"tallyman/internal/ledger"
	"tallyman/internal/ledger/codec"
	"tallyman/internal/notice"
)

// deliveryStore is ledger.Deliveries without the methods that each engine implements itself.
type deliveryStore struct{ *base }

// PendingLanes implements delivery.Lanes.
func (s *deliveryStore) PendingLanes(ctx context.Context, sink string) ([]ledger.Lane, error) {
	lane := ledger.Lane{Sink: sink}
	return list(ctx, s.db, "pending-lanes", []any{sink, s.LeaseArg()}, []any{&lane.Warehouse}, func() (ledger.Lane, error) { return lane, nil })
}

// AcquireLane implements delivery.Lanes.
func (s *deliveryStore) AcquireLane(ctx context.Context, lane ledger.Lane, node string, lease time.Duration) (bool, error) {
	id, err := s.IDs.MakeLane(ctx, lane)
	if err != nil {
		return false, err
	}
	n, err := s.db.Exec(ctx, "acquire-lane", id, node, lease.Microseconds(), s.LeaseArg())
	return n == 1, err
}

// ReleaseLane implements delivery.Lanes.
func (s *deliveryStore) ReleaseLane(ctx context.Context, lane ledger.Lane, node string) error {
	_, err := s.db.Exec(ctx, "release-lane", lane.Sink, lane.Warehouse, node)
	return err
}

// Pending implements delivery.Lanes.
func (s *deliveryStore) Pending(ctx context.Context, lane ledger.Lane, limit int) ([]delivery.Delivery, error) {
	id, found, err := s.IDs.Lane(ctx, lane)
	if err != nil || !found {
		return nil, err
	}
	var out []delivery.Delivery
	p := pendingPage{lane: id}
	for len(out) < limit {
		if err := p.read(ctx, s.base, limit-len(out)); err != nil {
			return nil, err
		}
		out = append(out, p.alive...)
		if len(p.expired) == 0 { // Otherwise unexpired deliveries may follow the expired ones.
			break
		}
		if _, err := s.db.Exec(ctx, "cancel", p.expired); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// pendingPage walks over the pending deliveries of a lane, a page at a time.
type pendingPage struct {
	lane    int64
	alive   []delivery.Delivery
	expired []int64
	last    int64
}

// read reads the next page.
func (p *pendingPage) read(ctx context.Context, b *base, limit int) error {
	p.alive, p.expired = nil, nil
	var seq int64
	var isExpired bool
	var recipients string
	var content body
	args := []any{p.lane, p.last, limit, b.NowArg()}
	return b.db.Each(ctx, "pending", args, []any{&seq, &isExpired, &recipients, &content}, func() error {
		p.last = seq
		if isExpired {
			p.expired = append(p.expired, seq)
			return nil
		}
		d, err := readDelivery(seq, recipients, content)
		p.alive = append(p.alive, d)
		return err
	})
}

func readDelivery(seq int64, recipients string, b body) (delivery.Delivery, error) {
	n, err := notice.Unmarshal(b)
	if err != nil {
		return delivery.Delivery{}, fmt.Errorf("delivery %d: %w", seq, err)
	}
	return delivery.Delivery{Seq: seq, Notice: n, Recipients: codec.Recipients(recipients)}, nil
}

// ReleasePushes implements delivery.Pushes.
func (s *deliveryStore) ReleasePushes(ctx context.Context, sink, node string, known []int64) error {
	id, found, err := s.IDs.Lane(ctx, ledger.Lane{Sink: sink})
	if err != nil || !found {
		return err
	}
	known = append([]int64{}, known...) // Never nil: in PostgreSQL a comparison with null matches no row.
	_, err = s.db.Exec(ctx, "release-pushes", id, node, known, s.NowArg())
	return err
}

// MarkAttempt implements delivery.Lanes.
func (s *deliveryStore) MarkAttempt(ctx context.Context, seqs []int64, made delivery.Attempt) error {
	return s.mark(ctx, "mark-attempt", seqs, &made)
}

// MarkFailed implements delivery.Lanes.
func (s *deliveryStore) MarkFailed(ctx context.Context, seqs []int64, made delivery.Attempt) error {
	return s.mark(ctx, "mark-failed", seqs, &made)
}

func (s *deliveryStore) mark(ctx context.Context, name string, seqs []int64, made *delivery.Attempt) error {
	ago, entry := codec.Attempt(made)
	_, err := s.db.Exec(ctx, name, seqs, codec.Text(made.Error), s.NowArg(), ago, entry)
	return err
}

// CountPending implements ledger.Deliveries.
func (s *deliveryStore) CountPending(ctx context.Context) (map[string]int64, error) {
	return countBy(ctx, s.db, "count-pending")
}

// CountDeliveries implements ledger.Deliveries.
func (s *deliveryStore) CountDeliveries(ctx context.Context) (map[string]map[ledger.DeliveryState]int64, error) {
	counts := map[string]map[ledger.DeliveryState]int64{}
	var sink string
	var state int16
	var n int64
	err := s.db.Each(ctx, "count-deliveries", []any{ledger.MostCounted}, []any{&sink, &state, &n}, func() error {
		if n == 0 {
			return nil
		}
		if counts[sink] == nil {
			counts[sink] = map[ledger.DeliveryState]int64{}
		}
		counts[sink][ledger.DeliveryState(state)] = n
		return nil
	})
	if err != nil {
		return nil, err
	}
	return counts, nil
}

// OldestPending implements ledger.DeliveryCounts.
func (s *deliveryStore) OldestPending(ctx context.Context) (map[string]time.Time, error) {
	return s.oldest(ctx, "oldest-pending")
}

// OldestFailed implements ledger.DeliveryCounts.
func (s *deliveryStore) OldestFailed(ctx context.Context) (map[string]time.Time, error) {
	return s.oldest(ctx, "oldest-failed", ledger.MostCounted)
}

// oldest runs a query that returns a time for each sink.
func (s *deliveryStore) oldest(ctx context.Context, query string, args ...any) (map[string]time.Time, error) {
	oldest := map[string]time.Time{}
	var sink string
	var since int64
	err := s.db.Each(ctx, query, args, []any{&sink, &since}, func() error {
		oldest[sink] = codec.Time(since)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return oldest, nil
}

// DeliveryCauses implements ledger.DeliveryCounts.
func (s *deliveryStore) DeliveryCauses(ctx context.Context, warehouse string) ([]ledger.DeliveryCause, error) {
	var c ledger.DeliveryCause
	var state int16
	targets := []any{&c.Sink, &state, &c.Cause, &c.Count, &c.Last, &c.Error}
	return list(ctx, s.db, "delivery-causes", []any{ledger.MostCounted, warehouse}, targets, func() (ledger.DeliveryCause, error) {
		c.State = ledger.DeliveryState(state)
		return c, nil
	})
}

// ListDeliveries implements ledger.DeliveryOperations.
func (s *deliveryStore) ListDeliveries(ctx context.Context, f ledger.DeliveryFilter) ([]ledger.DeliveryRecord, error) {
	states := make([]int64, len(f.States))
	for i, state := range f.States {
		states[i] = int64(state)
	}
	before := f.Before
	if before == 0 {
		before = math.MaxInt64
	}
	var out []ledger.DeliveryRecord
	var row codec.DeliveryRecord
	name := "list-deliveries"
	if f.Oldest {
		name = "list-deliveries-oldest"
	}
	args := []any{f.Sink, f.Warehouse, f.Type, f.Rule, f.Notice, states, before, f.Limit, s.NowArg(), f.Held, f.After, f.Cause, s.LeaseArg()}
	err := s.db.EachPlanned(ctx, "plan-anew", name, args, row.Columns(), func() error {
		r, err := row.Record()
		out = append(out, r)
		return err
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// Delivery implements ledger.DeliveryOperations.
func (s *deliveryStore) Delivery(ctx context.Context, seq int64) (ledger.DeliveryRecord, error) {
	notFound := fmt.Errorf("%w: delivery %d", ledger.ErrNotFound, seq)
	if seq < 1 || seq == math.MaxInt64 {
		return ledger.DeliveryRecord{}, notFound
	}
	found, err := s.ListDeliveries(ctx, ledger.DeliveryFilter{Before: seq + 1, Limit: 1})
	if err != nil {
		return ledger.DeliveryRecord{}, err
	}
	if len(found) == 0 || found[0].Seq != seq {
		return ledger.DeliveryRecord{}, notFound
	}
	d := found[0]
	d.Tried, err = s.attempts(ctx, seq)
	// A first successful attempt of the inbox or a queue is not kept.
	if err == nil && len(d.Tried) == 0 && d.State == ledger.DeliverySent {
		d.Tried = []delivery.Attempt{{At: d.SentAt}}
	}
	return d, err
}

// attempts returns the attempts of the delivery that the ledger has kept.
func (s *deliveryStore) attempts(ctx context.Context, seq int64) ([]delivery.Attempt, error) {
	var tried string
	if _, err := s.db.One(ctx, "attempts", []any{seq}, &tried); err != nil {
		return nil, err
	}
	list, err := codec.Attempts(tried)
	if err != nil {
		return nil, fmt.Errorf("delivery %d: %w", seq, err)
	}
	return list, nil
}
