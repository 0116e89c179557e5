package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"
	"slices"
	"time"

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
	now := l.nowMicros()
	next, err := l.nextPush(ctx, lane, now)
	if err != nil {
		return delivery.Claims{}, err
	}
	if next == 0 || next > now { // the usual case; then the call needs no write transaction
		return codec.ClaimsOf(nil, limit, now, next), nil
	}
	var list []delivery.PushClaim
	err = l.inTx(ctx, "claim pushes", func(tx *sql.Tx) error {
		// Read the clock again: the transaction may have waited for another writer.
		now = l.nowMicros()
		list, err = claimPushes(ctx, tx, lane, node, now, now+lease.Microseconds(), limit)
		return err
	})
	if err != nil {
		return delivery.Claims{}, err
	}
	if len(list) < limit {
		if next, err = l.nextPush(ctx, lane, now); err != nil {
			return delivery.Claims{}, err
		}
	}
	return codec.ClaimsOf(list, limit, now, next), nil
}

// nextPush returns when the next open delivery is due; 0 = none.
func (l *Ledger) nextPush(ctx context.Context, lane, now int64) (int64, error) {
	var next int64
	if _, err := one(ctx, l.read, "next-push", []any{lane, now}, &next); err != nil {
		return 0, failed("claim pushes", err)
	}
	return next, nil
}

func claimPushes(ctx context.Context, tx *sql.Tx, lane int64, node string, now, until int64, limit int) ([]delivery.PushClaim, error) {
	var seqs string
	if _, err := one(ctx, tx, "due-pushes", []any{lane, now, limit}, &seqs); err != nil || seqs == "[]" {
		return nil, err
	}
	if _, err := exec(ctx, tx, "claim-pushes", seqs, node, until); err != nil {
		return nil, err
	}
	var list []delivery.PushClaim
	var c codec.ClaimRow
	var body sql.RawBytes
	err := each(ctx, tx, "claimed-pushes", []any{seqs}, append(c.Columns(), &body), func() error {
		n, err := notice.Unmarshal(body)
		list = append(list, c.Claimed(n))
		return err
	})
	return list, err
}

// SettlePushes implements delivery.Pushes.
func (l *Ledger) SettlePushes(ctx context.Context, settled []delivery.Settlement) error {
	if len(settled) == 0 {
		return nil
	}
	s := codec.NewSettle(settled)
	return l.inTx(ctx, "settle pushes", func(tx *sql.Tx) error {
		now := l.nowMicros()
		if err := settleSent(ctx, tx, &s.Sent, now); err != nil {
			return err
		}
		failed, err := settleFailed(ctx, tx, &s.Failed, now)
		if err != nil {
			return err
		}
		if err := settleAgain(ctx, tx, &s.Again, now); err != nil {
			return err
		}
		if err := settleRelease(ctx, tx, &s.Release, now); err != nil {
			return err
		}
		err = repeat(ctx, tx, "settle-hold", len(s.Hold.Seqs), func(stmt *sql.Stmt, i int) error {
			_, err := stmt.ExecContext(ctx, s.Hold.Seqs[i], s.Hold.Tokens[i], now+s.Hold.After[i], s.Hold.HeldBy[i], now)
			return err
		})
		if err != nil {
			return err
		}
		return endPushes(ctx, tx, append(failed, s.Sent.Seqs...), now)
	})
}

func settleSent(ctx context.Context, tx *sql.Tx, s *codec.SettleColumns, now int64) error {
	if len(s.Seqs) == 0 {
		return nil
	}
	rows := make([][3]any, len(s.Seqs))
	for i := range s.Seqs {
		rows[i] = [3]any{s.Seqs[i], s.Ago[i], s.Attempts[i]}
	}
	text, err := json.Marshal(rows)
	if err == nil {
		_, err = exec(ctx, tx, "settle-sent", string(text), now)
	}
	return err
}

// settleFailed records failed deliveries, and returns the recorded ones.
func settleFailed(ctx context.Context, tx *sql.Tx, s *codec.SettleColumns, now int64) (ended []int64, err error) {
	inForce, err := settleEach(ctx, tx, "settle-failed", s, func(int) []any { return nil })
	if err != nil {
		return nil, err
	}
	err = repeat(ctx, tx, "push-failed", len(inForce), func(stmt *sql.Stmt, n int) error {
		i := inForce[n]
		ended = append(ended, s.Seqs[i])
		_, err := stmt.ExecContext(ctx, s.Seqs[i], s.Errors[i], s.Ago[i], s.Attempts[i], now)
		return err
	})
	return ended, err
}

func settleAgain(ctx context.Context, tx *sql.Tx, s *codec.SettleColumns, now int64) error {
	inForce, err := settleEach(ctx, tx, "settle-again", s, func(i int) []any { return []any{now + s.After[i]} })
	if err != nil {
		return err
	}
	return repeat(ctx, tx, "push-attempt", len(inForce), func(stmt *sql.Stmt, n int) error {
		i := inForce[n]
		_, err := stmt.ExecContext(ctx, s.Seqs[i], s.Errors[i], s.Ago[i], s.Attempts[i], now)
		return err
	})
}

func settleRelease(ctx context.Context, tx *sql.Tx, s *codec.SettleColumns, now int64) error {
	inForce, err := settleEach(ctx, tx, "settle-release", s, func(int) []any { return nil })
	if err != nil {
		return err
	}
	cutOff := slices.DeleteFunc(inForce, func(i int) bool { return s.Attempts[i] == "" })
	return repeat(ctx, tx, "push-cut-off", len(cutOff), func(stmt *sql.Stmt, n int) error {
		i := cutOff[n]
		_, err := stmt.ExecContext(ctx, s.Seqs[i], s.Ago[i], s.Attempts[i], now)
		return err
	})
}

// settleEach runs the query for each settlement, and returns the indexes of the settlements whose claim was in force.
func settleEach(ctx context.Context, tx *sql.Tx, name string, s *codec.SettleColumns, more func(i int) []any) (inForce []int, err error) {
	err = repeat(ctx, tx, name, len(s.Seqs), func(stmt *sql.Stmt, i int) error {
		res, err := stmt.ExecContext(ctx, append([]any{s.Seqs[i], s.Tokens[i]}, more(i)...)...)
		if err != nil {
			return err
		}
		n, err := res.RowsAffected()
		if n == 1 {
			inForce = append(inForce, i)
		}
		return err
	})
	return inForce, err
}

// EndPushes implements delivery.Pushes.
func (l *Ledger) EndPushes(ctx context.Context, sink string, limit int) (timedOut, canceled int, err error) {
	lane, _, err := l.IDs.Lane(ctx, ledger.Lane{Sink: sink})
	if err != nil {
		return 0, 0, err
	}
	now := l.nowMicros()
	late, expired, err := overPushes(ctx, l.read, lane, limit, now)
	if err != nil || len(late)+len(expired) == 0 { // the usual case; then the call needs no write transaction
		return 0, 0, err
	}
	err = l.inTx(ctx, "end pushes", func(tx *sql.Tx) error {
		// Read again inside the transaction: some of the deliveries may have ended meanwhile.
		late, expired, err := overPushes(ctx, tx, lane, limit, now)
		if err != nil {
			return err
		}
		timedOut, canceled = len(late), len(expired)
		if _, err := exec(ctx, tx, "time-out", late); err != nil {
			return err
		}
		if _, err := exec(ctx, tx, "cancel", expired); err != nil {
			return err
		}
		return endPushes(ctx, tx, append(late, expired...), now)
	})
	if err != nil {
		return 0, 0, err
	}
	return timedOut, canceled, nil
}

// overPushes reads the deliveries that have passed their deadline, and the deliveries whose notice has expired.
func overPushes(ctx context.Context, db queryer, lane int64, limit int, now int64) (late, expired []int64, err error) {
	var seq int64
	var deadline bool
	err = each(ctx, db, "over-pushes", []any{lane, limit, now}, []any{&seq, &deadline}, func() error {
		if deadline {
			late = append(late, seq)
		} else {
			expired = append(expired, seq)
		}
		return nil
	})
	return late, expired, err
}
