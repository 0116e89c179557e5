package store

import (
	"context"
	"fmt"
	"time"

	"tallyman/internal/ledger"
	"tallyman/internal/ledger/record"
	"tallyman/internal/ledger/rows"
	"tallyman/internal/silence"
)

// AddSilence implements ledger.Silences.
func (s *Store) AddSilence(ctx context.Context, who ledger.Author, given *silence.Silence) error {
	added := *given
	added.Author = who.By
	args, err := rows.SilenceArgs(&added)
	if err != nil {
		return err
	}
	return s.change(ctx, "add silence", who, func(tx Conn) (*ledger.Change, error) {
		n, err := tx.Exec(ctx, "add-silence", args...)
		if err != nil {
			return nil, err
		}
		if n == 0 {
			return nil, fmt.Errorf("%w: silence %s", ledger.ErrExists, added.ID)
		}
		return record.SilenceAdded(&added), count(ctx, tx, "silences")
	})
}

// EndSilence implements ledger.Silences. An engine that is alone lets go what the silence has held in the same transaction. On others that is a
// transaction of its own, after all that were about to hold something in the name of the silence: they have it locked.
func (s *Store) EndSilence(ctx context.Context, who ledger.Author, id string, at time.Time) (ended bool, err error) {
	if id == "" { // which stands for all of them
		return false, noSilence(id)
	}
	err = s.change(ctx, "end silence", who, func(tx Conn) (*ledger.Change, error) {
		before, err := silenceOf(ctx, tx, id)
		if err != nil {
			return nil, err
		}
		n, err := tx.Exec(ctx, "end-silence", id, rows.Micros(at), who.By)
		if ended = err == nil && n > 0; !ended {
			return nil, err
		}
		if s.db.IsAlone() {
			if err := s.letGo(ctx, tx, id); err != nil {
				return nil, err
			}
		}
		return record.SilenceEnded(before, who.By, at), count(ctx, tx, "silences")
	})
	if err != nil || !ended {
		return false, err
	}
	if !s.db.IsAlone() {
		err = s.db.InTx(ctx, "let go", func(tx Conn) error { return s.letGo(ctx, tx, id) })
	}
	return true, err
}

func (s *Store) letGo(ctx context.Context, tx Conn, id string) error {
	_, err := tx.Exec(ctx, "let-go", id, s.clock())
	return err
}

// Silence implements ledger.Silences.
func (s *Store) Silence(ctx context.Context, id string) (silence.Silence, error) {
	if id == "" {
		return silence.Silence{}, noSilence(id)
	}
	found, err := silenceOf(ctx, s.db, id)
	if err != nil {
		return silence.Silence{}, err
	}
	return *found, nil
}

// silenceOf returns the silence. ErrNotFound.
func silenceOf(ctx context.Context, c Conn, id string) (*silence.Silence, error) {
	var row rows.Silence
	found, err := one(ctx, c, "silences", []any{id}, row.Columns(), row.Silence)
	if err == nil && found == nil {
		err = noSilence(id)
	}
	return found, err
}

func noSilence(id string) error { return fmt.Errorf("%w: silence %q", ledger.ErrNotFound, id) }

// Silences implements ledger.Silences.
func (s *Store) Silences(ctx context.Context) ([]silence.Silence, error) {
	var row rows.Silence
	return list(ctx, s.db, "silences", []any{""}, row.Columns(), row.Silence)
}

// HeldBack implements ledger.Silences.
func (s *Store) HeldBack(ctx context.Context) (map[string]ledger.HeldBack, error) {
	out := rows.HeldBack{}
	var id string
	var n int
	targets := []any{&id, &n}
	if err := s.db.Each(ctx, "silenced-findings", nil, targets, func() error { out.Findings(id, n); return nil }); err != nil {
		return nil, err
	}
	if err := s.db.Each(ctx, "silenced-pushes", []any{s.clock()}, targets, func() error { out.Deliveries(id, n); return nil }); err != nil {
		return nil, err
	}
	return out, nil
}
