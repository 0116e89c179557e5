package sqlite

import (
	"context"
	"database/sql"
	"errors"

	"tallyman/internal/ledger"
	"tallyman/internal/ledger/rows"
)

// Send implements ledger.Sends.
func (l *Ledger) Send(ctx context.Context, given []ledger.NewNotice) (ledger.SentNotices, error) {
	if err := ledger.CheckSend(given); err != nil {
		return ledger.SentNotices{}, err
	}
	plan := rows.PlanOf(given)
	if err := plan.Encode()(); err != nil { // before the transaction, for which others wait
		return ledger.SentNotices{}, failed("send", err)
	}
	n := notices{plan: plan, now: l.clock()}
	sent := rows.NewSent(given)
	var lanes []ledger.Lane
	err := l.inTx(ctx, "send", func(tx *sql.Tx) error {
		if err := askSent(ctx, tx, sent); err != nil {
			return err
		}
		if sent.Others() {
			return rows.ErrOther
		}
		if err := n.write(ctx, tx); err != nil {
			return err
		}
		sent.Made(plan, n.made.Deliveries)
		lanes = plan.LanesOf(n.made.Deliveries)
		return nil
	})
	if err != nil && !errors.Is(err, rows.ErrOther) {
		return ledger.SentNotices{}, err
	}
	return sent.Answer(lanes), nil
}

// Sent implements ledger.Sends.
func (l *Ledger) Sent(ctx context.Context, given []ledger.NewNotice) (ledger.SentNotices, error) {
	sent := rows.NewSent(given)
	if err := askSent(ctx, l.read, sent); err != nil {
		return ledger.SentNotices{}, failed("sent", err)
	}
	return sent.Answer(nil), nil
}

// askSent asks what is there of the notices.
func askSent(ctx context.Context, db queryer, sent *rows.Sent) error {
	ids := []any{list(sent.IDs())}
	var body []byte
	err := each(ctx, db, "sent-notices", ids, []any{&body}, func() error { return sent.Found(body) })
	if err != nil {
		return err
	}
	var id, sink string
	var n int
	return each(ctx, db, "sent-deliveries", ids, []any{&id, &sink, &n}, func() error { sent.Delivered(id, sink, n); return nil })
}
