package sqlite

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"tallyman/internal/ledger"
	"tallyman/internal/ledger/record"
	"tallyman/internal/ledger/rows"
)

// AddToken implements ledger.Tokens.
func (l *Ledger) AddToken(ctx context.Context, who ledger.Author, t ledger.Token) error {
	t.CreatedBy = who.By
	return l.change(ctx, "add token", who, func(tx *sql.Tx) (*ledger.Change, error) {
		_, err := exec(ctx, tx, "add-token", rows.TokenArgs(&t)...)
		if isUniqueViolation(err) {
			return nil, fmt.Errorf("%w: token %s", ledger.ErrExists, t.ID)
		}
		if err == nil {
			_, err = take(ctx, tx, "tokens", 1)
		}
		return record.TokenAdded(&t), err
	})
}

// ListTokens implements ledger.Tokens.
func (l *Ledger) ListTokens(ctx context.Context) ([]ledger.Token, error) {
	var out []ledger.Token
	var row rows.Token
	err := each(ctx, l.read, "tokens", nil, row.Columns(), func() error {
		t, err := row.Token()
		out = append(out, t)
		return err
	})
	if err != nil {
		return nil, failed("list tokens", err)
	}
	return out, nil
}

// RevokeToken implements ledger.Tokens.
func (l *Ledger) RevokeToken(ctx context.Context, who ledger.Author, id string, at time.Time) error {
	return l.change(ctx, "revoke token", who, func(tx *sql.Tx) (*ledger.Change, error) {
		var row rows.Token
		there, err := one(ctx, tx, "token", []any{id}, row.Columns()...)
		if err != nil {
			return nil, err
		}
		if !there {
			return nil, fmt.Errorf("%w: token %q", ledger.ErrNotFound, id)
		}
		before, err := row.Token()
		if err != nil {
			return nil, err
		}
		n, err := exec(ctx, tx, "revoke-token", id, who.By, rows.Micros(at))
		if err != nil || n == 0 {
			return nil, err
		}
		_, err = take(ctx, tx, "tokens", 1)
		return record.TokenRevoked(&before, who.By, at), err
	})
}

// UseTokens implements ledger.Tokens.
func (l *Ledger) UseTokens(ctx context.Context, used map[string]time.Time) error {
	if len(used) == 0 {
		return nil
	}
	return l.inTx(ctx, "use tokens", func(tx *sql.Tx) error {
		for id, at := range used {
			if _, err := exec(ctx, tx, "use-token", id, rows.Micros(at)); err != nil {
				return err
			}
		}
		return nil
	})
}

// ForgetTokens implements ledger.Tokens.
func (l *Ledger) ForgetTokens(ctx context.Context, before time.Time) (n int64, err error) {
	err = l.inTx(ctx, "forget tokens", func(tx *sql.Tx) error {
		var err error
		if n, err = exec(ctx, tx, "forget-tokens", rows.Micros(before)); err != nil || n == 0 {
			return err
		}
		_, err = take(ctx, tx, "tokens", 1)
		return err
	})
	return n, err
}
