package sqlite

import (
	"context"
	"database/sql"
	"fmt"
	"time"

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
	return l.change(ctx, "add silence", who, func(tx *sql.Tx) (*ledger.Change, error) {
		n, err := exec(ctx, tx, "add-silence", args...)
		if err != nil {
			return nil, err
		}
		if n == 0 {
			return nil, fmt.Errorf("%w: silence %s", ledger.ErrExists, s.ID)
		}
		_, err = exec(ctx, tx, "count-silences")
		return record.SilenceAdded(&added), err
	})
}

// EndSilence implements ledger.Silences.
func (l *Ledger) EndSilence(ctx context.Context, who ledger.Author, id string, at time.Time) (ended bool, err error) {
	if id == "" { // which stands for all of them
		return false, noSilence(id)
	}
	err = l.change(ctx, "end silence", who, func(tx *sql.Tx) (*ledger.Change, error) {
		var row rows.Silence
		there, err := one(ctx, tx, "silences", []any{id}, row.Columns()...)
		if err != nil {
			return nil, err
		}
		if !there {
			return nil, noSilence(id)
		}
		before, err := row.Silence()
		if err != nil {
			return nil, err
		}
		n, err := exec(ctx, tx, "end-silence", id, rows.Micros(at), who.By)
		if ended = err == nil && n > 0; !ended {
			return nil, err
		}
		if _, err := exec(ctx, tx, "count-silences"); err != nil {
			return nil, err
		}
		_, err = exec(ctx, tx, "let-go", id, l.clock())
		return record.SilenceEnded(&before, who.By, at), err
	})
	return ended && err == nil, err
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
	var out []silence.Silence
	var s rows.Silence
	err := each(ctx, l.read, "silences", []any{id}, s.Columns(), func() error {
		one, err := s.Silence()
		out = append(out, one)
		return err
	})
	if err != nil {
		return nil, failed("silences", err)
	}
	return out, nil
}

// HeldBack implements ledger.Silences.
func (l *Ledger) HeldBack(ctx context.Context) (map[string]ledger.HeldBack, error) {
	out := rows.HeldBack{}
	for _, q := range []struct {
		name string
		args []any
		add  func(string, int)
	}{{"silenced-findings", nil, out.Findings}, {"silenced-pushes", []any{l.clock()}, out.Deliveries}} {
		var id string
		var n int
		if err := each(ctx, l.read, q.name, q.args, []any{&id, &n}, func() error { q.add(id, n); return nil }); err != nil {
			return nil, failed(q.name, err)
		}
	}
	return out, nil
}

// countEvents counts what silences have dropped.
func countEvents(ctx context.Context, tx *sql.Tx, dropped map[string]int) error {
	for _, id := range rows.SilencesOf(dropped) {
		if _, err := exec(ctx, tx, "count-events", id, dropped[id]); err != nil {
			return err
		}
	}
	return nil
}
