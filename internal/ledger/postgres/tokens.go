package postgres

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"tallyman/internal/ledger"
	"tallyman/internal/ledger/rows"
)

// AddToken implements ledger.Tokens.
func (l *Ledger) AddToken(ctx context.Context, t ledger.Token) error {
	return l.changeTokens(ctx, "add token", func(tx pgx.Tx) (int64, error) {
		tag, err := tx.Exec(ctx, queries.Get("add-token"), rows.TokenArgs(&t)...)
		if hasState(err, uniqueViolation) {
			err = fmt.Errorf("%w: token %s", ledger.ErrExists, t.ID)
		}
		return tag.RowsAffected(), err
	})
}

// ListTokens implements ledger.Tokens.
func (l *Ledger) ListTokens(ctx context.Context) ([]ledger.Token, error) {
	return query(ctx, l, "tokens", func(r pgx.CollectableRow) (ledger.Token, error) {
		var t rows.Token
		if err := r.Scan(t.Columns()...); err != nil {
			return ledger.Token{}, err
		}
		return t.Token()
	})
}

// RevokeToken implements ledger.Tokens.
func (l *Ledger) RevokeToken(ctx context.Context, id, by string, at time.Time) error {
	return l.changeTokens(ctx, "revoke token", func(tx pgx.Tx) (int64, error) {
		tag, err := tx.Exec(ctx, queries.Get("revoke-token"), id, by, rows.Micros(at))
		if err != nil || tag.RowsAffected() > 0 {
			return tag.RowsAffected(), err
		}
		var there bool
		if err := tx.QueryRow(ctx, queries.Get("has-token"), id).Scan(&there); err != nil {
			return 0, err
		}
		if !there {
			return 0, fmt.Errorf("%w: token %q", ledger.ErrNotFound, id)
		}
		return 0, nil
	})
}

// UseTokens implements ledger.Tokens.
func (l *Ledger) UseTokens(ctx context.Context, used map[string]time.Time) error {
	if len(used) == 0 {
		return nil
	}
	ids, times := make([]string, 0, len(used)), make([]int64, 0, len(used))
	for id, at := range used {
		ids, times = append(ids, id), append(times, rows.Micros(at))
	}
	_, err := l.exec(ctx, "use-tokens", ids, times)
	return err
}

// ForgetTokens implements ledger.Tokens.
func (l *Ledger) ForgetTokens(ctx context.Context, before time.Time) (n int64, err error) {
	err = l.changeTokens(ctx, "forget tokens", func(tx pgx.Tx) (int64, error) {
		tag, err := tx.Exec(ctx, queries.Get("forget-tokens"), rows.Micros(before))
		n = tag.RowsAffected()
		return n, err
	})
	return n, err
}

// changeTokens runs do and lets the number of the tokens grow if it changed any.
func (l *Ledger) changeTokens(ctx context.Context, what string, do func(pgx.Tx) (int64, error)) error {
	return l.inTx(ctx, what, func(tx pgx.Tx) error {
		changed, err := do(tx)
		if err != nil || changed == 0 {
			return err
		}
		_, err = tx.Exec(ctx, queries.Get("count-tokens"))
		return err
	})
}
