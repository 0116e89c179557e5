package sqlite

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"tallyman/internal/ledger"
	"tallyman/internal/ledger/rows"
)

// AddToken implements ledger.Tokens.
func (l *Ledger) AddToken(ctx context.Context, t ledger.Token) error {
	return l.changeTokens(ctx, "add token", func(tx *sql.Tx) (int64, error) {
		n, err := exec(ctx, tx, "add-token", rows.TokenArgs(&t)...)
		if isUniqueViolation(err) {
			err = fmt.Errorf("%w: token %s", ledger.ErrExists, t.ID)
		}
		return n, err
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
func (l *Ledger) RevokeToken(ctx context.Context, id, by string, at time.Time) error {
	return l.changeTokens(ctx, "revoke token", func(tx *sql.Tx) (int64, error) {
		n, err := exec(ctx, tx, "revoke-token", id, by, rows.Micros(at))
		if err != nil || n > 0 {
			return n, err
		}
		var found int
		there, err := one(ctx, tx, "has-token", []any{id}, &found)
		if err == nil && !there {
			err = fmt.Errorf("%w: token %q", ledger.ErrNotFound, id)
		}
		return 0, err
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
	err = l.changeTokens(ctx, "forget tokens", func(tx *sql.Tx) (int64, error) {
		var err error
		n, err = exec(ctx, tx, "forget-tokens", rows.Micros(before))
		return n, err
	})
	return n, err
}

// changeTokens runs do and lets the number of the tokens grow if it changed any.
func (l *Ledger) changeTokens(ctx context.Context, what string, do func(*sql.Tx) (int64, error)) error {
	return l.inTx(ctx, what, func(tx *sql.Tx) error {
		changed, err := do(tx)
		if err != nil || changed == 0 {
			return err
		}
		var last int64
		_, err = one(ctx, tx, "take-number", []any{"tokens", 1}, &last)
		return err
	})
}
