package postgres

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"

	"tallyman/internal/ledger"
	"tallyman/internal/ledger/rows"
)

// Send implements ledger.Sends. Where the same notices are being sent elsewhere, the key of the table makes it wait for them; then
// they are there.
func (l *Ledger) Send(ctx context.Context, notices []ledger.NewNotice) (ledger.SentNotices, error) {
	if err := ledger.CheckSend(notices); err != nil {
		return ledger.SentNotices{}, err
	}
	sent, err := l.send(ctx, notices)
	if hasState(err, uniqueViolation) {
		sent, err = l.send(ctx, notices)
	}
	return sent, err
}

func (l *Ledger) send(ctx context.Context, given []ledger.NewNotice) (ledger.SentNotices, error) {
	n, err := l.newNotices(ctx, rows.PlanOf(given))
	defer n.release()
	if err != nil {
		return ledger.SentNotices{}, err
	}
	sent := rows.NewSent(given)
	var lanes []ledger.Lane
	err = l.inTx(ctx, "send", func(tx pgx.Tx) error {
		var b pgx.Batch
		n.ask(&b)
		askSent(&b, sent)
		if err := tx.SendBatch(ctx, &b).Close(); err != nil {
			return err
		}
		if sent.Others() {
			return rows.ErrOther
		}
		n.existing = sent.Existing()
		if err := n.write(ctx, tx); err != nil {
			return err
		}
		sent.Made(n.plan, n.made.Deliveries)
		lanes = n.plan.LanesOf(n.made.Deliveries)
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
	begin := func(b *pgx.Batch) { askSent(b, sent) }
	if err := l.inShortTx(ctx, "sent", begin, func(context.Context, *pgx.Conn, *pgx.Batch) error { return nil }); err != nil {
		return ledger.SentNotices{}, err
	}
	return sent.Answer(nil), nil
}

// askSent asks what is there of the notices.
func askSent(b *pgx.Batch, sent *rows.Sent) {
	ids := sent.IDs()
	b.Queue(queries.Get("by-key"))
	b.Queue(queries.Get("sent-notices"), ids).Query(func(found pgx.Rows) error {
		var body []byte
		_, err := pgx.ForEachRow(found, []any{&body}, func() error { return sent.Found(body) })
		return err
	})
	b.Queue(queries.Get("sent-deliveries"), ids).Query(func(found pgx.Rows) error {
		var id, sink string
		var n int
		_, err := pgx.ForEachRow(found, []any{&id, &sink, &n}, func() error { sent.Delivered(id, sink, n); return nil })
		return err
	})
	b.Queue(queries.Get("by-any"))
}
