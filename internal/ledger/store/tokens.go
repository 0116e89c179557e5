package store

import (
	"context"
	"fmt"
	"time"

	"tallyman/internal/ledger"
	"tallyman/internal/ledger/record"
	"tallyman/internal/ledger/rows"
)

// AddToken implements ledger.Tokens.
func (s *Store) AddToken(ctx context.Context, who ledger.Author, t ledger.Token) error {
	t.CreatedBy = who.By
	return s.change(ctx, "add token", who, func(tx Conn) (*ledger.Change, error) {
		_, err := tx.Exec(ctx, "add-token", rows.TokenArgs(&t)...)
		if s.db.IsDuplicate(err) {
			return nil, fmt.Errorf("%w: token %s", ledger.ErrExists, t.ID)
		}
		if err == nil {
			err = count(ctx, tx, "tokens")
		}
		return record.TokenAdded(&t), err
	})
}

// ListTokens implements ledger.Tokens.
func (s *Store) ListTokens(ctx context.Context) ([]ledger.Token, error) {
	var row rows.Token
	return list(ctx, s.db, "tokens", nil, row.Columns(), row.Token)
}

// RevokeToken implements ledger.Tokens.
func (s *Store) RevokeToken(ctx context.Context, who ledger.Author, id string, at time.Time) error {
	return s.change(ctx, "revoke token", who, func(tx Conn) (*ledger.Change, error) {
		var row rows.Token
		before, err := one(ctx, tx, "token", []any{id}, row.Columns(), row.Token)
		if err != nil {
			return nil, err
		}
		if before == nil {
			return nil, fmt.Errorf("%w: token %q", ledger.ErrNotFound, id)
		}
		n, err := tx.Exec(ctx, "revoke-token", id, who.By, rows.Micros(at))
		if err != nil || n == 0 {
			return nil, err
		}
		return record.TokenRevoked(before, who.By, at), count(ctx, tx, "tokens")
	})
}

// UseTokens implements ledger.Tokens.
func (s *Store) UseTokens(ctx context.Context, used map[string]time.Time) error {
	if len(used) == 0 {
		return nil
	}
	ids, times := make([]string, 0, len(used)), make([]int64, 0, len(used))
	for id, at := range used {
		ids, times = append(ids, id), append(times, rows.Micros(at))
	}
	_, err := s.db.Exec(ctx, "use-tokens", ids, times)
	return err
}

// ForgetTokens implements ledger.Tokens.
func (s *Store) ForgetTokens(ctx context.Context, before time.Time) (n int64, err error) {
	err = s.db.InTx(ctx, "forget tokens", func(tx Conn) error {
		var err error
		if n, err = tx.Exec(ctx, "forget-tokens", rows.Micros(before)); err != nil || n == 0 {
			return err
		}
		return count(ctx, tx, "tokens")
	})
	return n, err
}
