package postgres

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"tallyman/engine/silence"
	"tallyman/internal/ledger"
	"tallyman/internal/ledger/rows"
)

// AddSilence implements ledger.Silences.
func (l *Ledger) AddSilence(ctx context.Context, s *silence.Silence) error {
	args, err := rows.SilenceArgs(s)
	if err != nil {
		return err
	}
	return l.inTx(ctx, "add silence", func(tx pgx.Tx) error {
		tag, err := tx.Exec(ctx, queries.Get("add-silence"), args...)
		if err != nil {
			return err
		}
		if tag.RowsAffected() == 0 {
			return fmt.Errorf("%w: silence %s", ledger.ErrExists, s.ID)
		}
		_, err = tx.Exec(ctx, queries.Get("count-silences"))
		return err
	})
}

// EndSilence implements ledger.Silences. What it has held is let go in a transaction of its own, after all that were about to hold
// something in its name: they have it locked.
func (l *Ledger) EndSilence(ctx context.Context, id, by string, at time.Time) (ended bool, err error) {
	err = l.inTx(ctx, "end silence", func(tx pgx.Tx) error {
		tag, err := tx.Exec(ctx, queries.Get("end-silence"), id, rows.Micros(at), by)
		if ended = err == nil && tag.RowsAffected() > 0; !ended {
			return err
		}
		_, err = tx.Exec(ctx, queries.Get("count-silences"))
		return err
	})
	if err != nil {
		return false, err
	}
	if !ended {
		_, err := l.Silence(ctx, id)
		return false, err
	}
	err = again(func() error {
		_, err := l.exec(ctx, "let-go", id, l.clock())
		return err
	})
	return true, err
}

// Silence implements ledger.Silences.
func (l *Ledger) Silence(ctx context.Context, id string) (silence.Silence, error) {
	list, err := l.silences(ctx, id)
	if err != nil {
		return silence.Silence{}, err
	}
	if len(list) == 0 || id == "" {
		return silence.Silence{}, fmt.Errorf("%w: silence %q", ledger.ErrNotFound, id)
	}
	return list[0], nil
}

// Silences implements ledger.Silences.
func (l *Ledger) Silences(ctx context.Context) ([]silence.Silence, error) { return l.silences(ctx, "") }

func (l *Ledger) silences(ctx context.Context, id string) ([]silence.Silence, error) {
	return query(ctx, l, "silences", func(r pgx.CollectableRow) (silence.Silence, error) {
		var s rows.Silence
		if err := r.Scan(s.Columns()...); err != nil {
			return silence.Silence{}, err
		}
		return s.Silence()
	}, id)
}

// HeldBack implements ledger.Silences.
func (l *Ledger) HeldBack(ctx context.Context) (map[string]ledger.HeldBack, error) {
	out := rows.HeldBack{}
	for _, q := range []struct {
		name string
		args []any
		add  func(string, int)
	}{{"silenced-findings", nil, out.Findings}, {"silenced-pushes", []any{l.clock()}, out.Deliveries}} {
		found, err := l.pool.Query(ctx, queries.Get(q.name), q.args...)
		if err != nil {
			return nil, failed(q.name, err)
		}
		var id string
		var n int
		if _, err := pgx.ForEachRow(found, []any{&id, &n}, func() error { q.add(id, n); return nil }); err != nil {
			return nil, failed(q.name, err)
		}
	}
	return out, nil
}

// countEvents adds the statements that count what silences have dropped.
func countEvents(b *pgx.Batch, dropped map[string]int) {
	for _, id := range rows.SilencesOf(dropped) {
		b.Queue(queries.Get("count-events"), id, dropped[id])
	}
}
