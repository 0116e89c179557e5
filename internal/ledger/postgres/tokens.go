package postgres

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"tallyman/internal/ledger"
	"tallyman/internal/ledger/record"
	"tallyman/internal/ledger/rows"
)

// AddToken implements ledger.Tokens.
func (l *Ledger) AddToken(ctx context.Context, who ledger.Author, t ledger.Token) error {
	t.CreatedBy = who.By
	return l.change(ctx, "add token", who, func(tx pgx.Tx) (*ledger.Change, error) {
		_, err := tx.Exec(ctx, queries.Get("add-token"), rows.TokenArgs(&t)...)
		if hasState(err, uniqueViolation) {
			return nil, fmt.Errorf("%w: token %s", ledger.ErrExists, t.ID)
		}
		if err == nil {
			_, err = tx.Exec(ctx, queries.Get("count-tokens"))
		}
		return record.TokenAdded(&t), err
	})
}

// ListTokens implements ledger.Tokens.
func (l *Ledger) ListTokens(ctx context.Context) ([]ledger.Token, error) {
	return query(ctx, l, "tokens", scanToken)
}

func scanToken(r pgx.CollectableRow) (ledger.Token, error) {
	var t rows.Token
	if err := r.Scan(t.Columns()...); err != nil {
		return ledger.Token{}, err
	}
	return t.Token()
}

// RevokeToken implements ledger.Tokens.
func (l *Ledger) RevokeToken(ctx context.Context, who ledger.Author, id string, at time.Time) error {
	return l.change(ctx, "revoke token", who, func(tx pgx.Tx) (*ledger.Change, error) {
		before, err := one(ctx, tx, "token", scanToken, id)
		if err != nil {
			return nil, err
		}
		if before == nil {
			return nil, fmt.Errorf("%w: token %q", ledger.ErrNotFound, id)
		}
		tag, err := tx.Exec(ctx, queries.Get("revoke-token"), id, who.By, rows.Micros(at))
		if err != nil || tag.RowsAffected() == 0 {
			return nil, err
		}
		_, err = tx.Exec(ctx, queries.Get("count-tokens"))
		return record.TokenRevoked(before, who.By, at), err
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
	err = l.inTx(ctx, "forget tokens", func(tx pgx.Tx) error {
		tag, err := tx.Exec(ctx, queries.Get("forget-tokens"), rows.Micros(before))
		if n = tag.RowsAffected(); err != nil || n == 0 {
			return err
		}
		_, err = tx.Exec(ctx, queries.Get("count-tokens"))
		return err
	})
	return n, err
}
