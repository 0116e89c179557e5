package store

import (
	"context"

	"tallyman/internal/ledger"
	"tallyman/internal/ledger/codec"
)

// ClaimOrigin implements ledger.OriginKeeper.
func (s *catalogueStore) ClaimOrigin(ctx context.Context, c ledger.OriginClaim) (token int64, claimed bool, err error) {
	anew := 0
	if c.Anew {
		anew = 1
	}
	err = s.db.InTx(ctx, "claim origin", func(tx Conn) error {
		claimed, err = tx.One(ctx, "claim-origin", []any{string(c.Kind), c.Name, c.Every.Microseconds(), s.LeaseArg(), c.Within.Microseconds(), c.Question, anew}, &token)
		return err
	})
	return token, claimed && err == nil, err
}

// FailOrigin implements ledger.OriginKeeper.
func (s *catalogueStore) FailOrigin(ctx context.Context, key ledger.OriginKey, token int64, reason string) error {
	return s.db.InTx(ctx, "fail origin", func(tx Conn) error {
		row, err := claimedOrigin(ctx, tx, key, token)
		if err != nil {
			return err
		}
		if row.Failed == 0 {
			row.Failed = row.Asked
		}
		row.Error = reason
		return setOrigin(ctx, tx, row)
	})
}

// origin returns the row of an origin; nil where there is none.
func origin(ctx context.Context, tx Conn, key ledger.OriginKey) (*codec.Origin, error) {
	var row codec.Origin
	return one(ctx, tx, "origin", []any{string(key.Kind), key.Name}, row.Columns(), func() (codec.Origin, error) { return row, nil })
}

// claimedOrigin returns the row of an origin if the last claim has the token. Otherwise ErrFenced.
func claimedOrigin(ctx context.Context, tx Conn, key ledger.OriginKey, token int64) (*codec.Origin, error) {
	row, err := origin(ctx, tx, key)
	if err == nil && (row == nil || row.Token != token) {
		err = ledger.ErrFenced
	}
	return row, err
}

func setOrigin(ctx context.Context, tx Conn, row *codec.Origin) error {
	_, err := tx.Exec(ctx, "set-origin", row.Args()...)
	return err
}

// waitFor makes the list wait for an operator. A list that waits already keeps the time since when it waits.
func waitFor(ctx context.Context, tx Conn, row *codec.Origin, list string) error {
	if row.Waits != list {
		row.Waits, row.WaitsSince = list, row.Asked
	}
	return setOrigin(ctx, tx, row)
}
