package postgres

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"tallyman/internal/ledger"
	"tallyman/internal/ledger/record"
	"tallyman/internal/ledger/rows"
	"tallyman/internal/silence"
)

// AddSilence implements ledger.Silences.
func (l *Ledger) AddSilence(ctx context.Context, who ledger.Author, s *silence.Silence) error {
	added := *s
	added.Author = who.By
	args, err := rows.SilenceArgs(&added)
	if err != nil {
		return err
	}
	return l.change(ctx, "add silence", who, func(tx pgx.Tx) (*ledger.Change, error) {
		tag, err := tx.Exec(ctx, queries.Get("add-silence"), args...)
		if err != nil {
			return nil, err
		}
		if tag.RowsAffected() == 0 {
			return nil, fmt.Errorf("%w: silence %s", ledger.ErrExists, s.ID)
		}
		_, err = tx.Exec(ctx, queries.Get("count-silences"))
		return record.SilenceAdded(&added), err
	})
}

// EndSilence implements ledger.Silences. What it has held is let go in a transaction of its own, after all that were about to hold
// something in its name: they have it locked.
func (l *Ledger) EndSilence(ctx context.Context, who ledger.Author, id string, at time.Time) (ended bool, err error) {
	if id == "" { // which stands for all of them
		return false, noSilence(id)
	}
	err = l.change(ctx, "end silence", who, func(tx pgx.Tx) (*ledger.Change, error) {
		before, err := one(ctx, tx, "silences", scanSilence, id)
		if err != nil {
			return nil, err
		}
		if before == nil {
			return nil, noSilence(id)
		}
		tag, err := tx.Exec(ctx, queries.Get("end-silence"), id, rows.Micros(at), who.By)
		if ended = err == nil && tag.RowsAffected() > 0; !ended {
			return nil, err
		}
		_, err = tx.Exec(ctx, queries.Get("count-silences"))
		return record.SilenceEnded(before, who.By, at), err
	})
	if err != nil || !ended {
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
		return silence.Silence{}, noSilence(id)
	}
	return list[0], nil
}

func noSilence(id string) error { return fmt.Errorf("%w: silence %q", ledger.ErrNotFound, id) }

// Silences implements ledger.Silences.
func (l *Ledger) Silences(ctx context.Context) ([]silence.Silence, error) { return l.silences(ctx, "") }

func (l *Ledger) silences(ctx context.Context, id string) ([]silence.Silence, error) {
	return query(ctx, l, "silences", scanSilence, id)
}

func scanSilence(r pgx.CollectableRow) (silence.Silence, error) {
	var s rows.Silence
	if err := r.Scan(s.Columns()...); err != nil {
		return silence.Silence{}, err
	}
	return s.Silence()
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
