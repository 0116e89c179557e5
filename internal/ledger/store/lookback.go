package store

import (
	"context"

	"tallyman/internal/ledger"
	"tallyman/internal/ledger/codec"
)

// LookBack implements ledger.LookBacks.
func (s *firingStore) LookBack(ctx context.Context, rule, scope string) (ledger.LookBack, error) {
	var read codec.LookBack
	if err := s.db.Each(ctx, "look-back", []any{rule, scope}, read.Columns(), read.Read); err != nil {
		return ledger.LookBack{}, err
	}
	return read.Memory(), nil
}
