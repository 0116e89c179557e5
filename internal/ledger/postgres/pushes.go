package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"tallyman/internal/delivery"
	"tallyman/internal/ledger"
	"tallyman/internal/ledger/codec"
	"tallyman/internal/notice"
)

// ClaimPushes implements delivery.Pushes.
func (l *Ledger) ClaimPushes(ctx context.Context, sink, node string, lease time.Duration, limit int) (delivery.Claims, error) {
	lane, _, err := l.IDs.Lane(ctx, ledger.Lane{Sink: sink})
	if err != nil {
		return delivery.Claims{}, err
	}
	var list []delivery.PushClaim
	var now, next int64
	clock, leases := l.NowArg(), l.LeaseArg()
	begin := func(b *pgx.Batch) {
		list, next = nil, 0
		b.Queue(queries.Get("by-key"))
		b.Queue(queries.Get("claim-pushes"), lane, node, lease.Microseconds(), limit, clock, leases).Query(func(found pgx.Rows) error {
			var c codec.ClaimRow
			var body pgtype.DriverBytes // points into the connection's buffer; valid until the next row
			_, err := pgx.ForEachRow(found, append(c.Columns(), &body), func() error {
				n, err := notice.Unmarshal(body)
				list = append(list, c.Claimed(n))
				return err
			})
			return err
		})
		b.Queue(queries.Get("now"), clock).QueryRow(func(r pgx.Row) error { return r.Scan(&now) })
	}
	err = l.inShortTx(ctx, "claim pushes", begin, func(_ context.Context, _ *pgx.Conn, last *pgx.Batch) error {
		if len(list) < limit {
			last.Queue(queries.Get("next-push"), lane, clock, leases).QueryRow(func(r pgx.Row) error { return r.Scan(&now, &next) })
		}
		return nil
	})
	if err != nil {
		return delivery.Claims{}, err
	}
	return codec.ClaimsOf(list, limit, now, next), nil
}

// SettlePushes implements delivery.Pushes.
func (l *Ledger) SettlePushes(ctx context.Context, settled []delivery.Settlement) error {
	if len(settled) == 0 {
		return nil
	}
	s := codec.NewSettle(settled)
	var sent laneEnds
	begin := func(b *pgx.Batch) {
		sent = laneEnds{}
		b.Queue(queries.Get("by-key"))
		if !s.OnlySent() { // most calls have only sent deliveries
			b.Queue(queries.Get("lock-pushes"), s.All(), s.Ended())
		}
		b.Queue(queries.Get("lock-followed"), s.Sent.Seqs).QueryRow(sent.scan)
	}
	return l.inShortTx(ctx, "settle pushes", begin, func(_ context.Context, _ *pgx.Conn, last *pgx.Batch) error {
		l.settle(last, s)
		if len(s.Failed.Seqs)+len(sent.findings) > 0 {
			l.releaseNext(last, s.Failed.Seqs, sent)
		}
		return nil
	})
}

// settle adds the statements that record the settlements.
func (l *Ledger) settle(b *pgx.Batch, s *codec.Settle) {
	clock := l.NowArg()
	if sent := &s.Sent; len(sent.Seqs) > 0 {
		b.Queue(queries.Get("reopen-sent"), sent.Seqs)
		b.Queue(queries.Get("settle-sent"), sent.Seqs, sent.Ago, sent.Attempts, clock)
	}
	if f := &s.Failed; len(f.Seqs) > 0 {
		b.Queue(queries.Get("settle-failed"), f.Seqs, f.Tokens, f.Errors, f.Ago, f.Attempts, clock)
	}
	if a := &s.Again; len(a.Seqs) > 0 {
		b.Queue(queries.Get("settle-again"), a.Seqs, a.Tokens, a.Errors, a.After, a.Ago, a.Attempts, clock)
	}
	if r := &s.Release; len(r.Seqs) > 0 {
		b.Queue(queries.Get("settle-release"), r.Seqs, r.Tokens, r.Ago, r.Attempts, clock)
	}
	if h := &s.Hold; len(h.Seqs) > 0 {
		b.Queue(queries.Get("settle-hold"), h.Seqs, h.Tokens, h.After, h.HeldBy, clock)
	}
}

// laneEnds has the places where rows of the table pushes are removed: findings, lanes and recipients. Deliveries that
// waited there behind the removed rows can go now.
type laneEnds struct {
	findings, addressees []int64
	lanes                []int32
}

// scan reads the result of lock-followed.
func (f *laneEnds) scan(r pgx.Row) error {
	var locked int64
	return r.Scan(&locked, &f.findings, &f.lanes, &f.addressees)
}

// releaseNext adds the statement that releases the next delivery behind each of seqs, and behind the removed
// deliveries of gone.
func (l *Ledger) releaseNext(b *pgx.Batch, seqs []int64, gone laneEnds) {
	b.Queue(queries.Get("release-next"), seqs, gone.findings, gone.lanes, gone.addressees, l.NowArg())
}

// EndPushes implements delivery.Pushes.
func (l *Ledger) EndPushes(ctx context.Context, sink string, limit int) (timedOut, canceled int, err error) {
	lane, found, err := l.IDs.Lane(ctx, ledger.Lane{Sink: sink})
	if err != nil || !found {
		return 0, 0, err
	}
	var over []int64
	count := func(found pgx.Rows) error {
		var seq int64
		var state int16
		_, err := pgx.ForEachRow(found, []any{&seq, &state}, func() error {
			if ledger.DeliveryState(state) == ledger.DeliveryTimedOut {
				timedOut++
			} else {
				canceled++
			}
			return nil
		})
		return err
	}
	begin := func(b *pgx.Batch) {
		over, timedOut, canceled = nil, 0, 0
		b.Queue(queries.Get("by-key"))
		b.Queue(queries.Get("over-pushes"), lane, limit, l.NowArg()).Query(collect(&over))
	}
	err = l.inShortTx(ctx, "end pushes", begin, func(_ context.Context, _ *pgx.Conn, last *pgx.Batch) error {
		if len(over) > 0 {
			last.Queue(queries.Get("lock-pushes"), over, over)
			last.Queue(queries.Get("end-pushes"), over, l.NowArg()).Query(count)
			l.releaseNext(last, over, laneEnds{})
		}
		return nil
	})
	return timedOut, canceled, err
}
