package store

import (
	"context"
	"fmt"

	"tallyman/internal/ledger"
	"tallyman/internal/ledger/codec"
	"tallyman/internal/ledger/record"
	"tallyman/rules/row"
)

// Rewind implements ledger.Rewinds.
func (s *firingStore) Rewind(ctx context.Context, who ledger.Author, r *ledger.Rewind) (before []row.Value, err error) {
	if len(r.To) == 0 || len(r.To) != len(r.Columns) {
		return nil, fmt.Errorf("%w: a watermark of %d columns cannot be moved to %d values", ledger.ErrInvalid, len(r.Columns), len(r.To))
	}
	to, err := codec.Watermark(r.To)
	if err != nil {
		return nil, err
	}
	err = s.change(ctx, "rewind", who, func(tx Conn) (*ledger.Change, error) {
		var id int64
		var watermark string
		var running bool
		switch found, err := tx.One(ctx, "rewound", []any{r.Rule, r.Scope, s.LeaseArg()}, &id, &watermark, &running); {
		case err != nil:
			return nil, err
		case !found:
			return nil, notKnown(r.Rule, r.Scope)
		case running:
			return nil, ledger.ErrBusy
		}
		if before, err = codec.ParseWatermark(watermark); err != nil {
			return nil, err
		}
		// The memory of seen rows belongs to the old position: with it the rule would skip rows that it must read
		// again.
		forget, err := codec.LookBackChanges(id, &ledger.LookBackChange{})
		if err != nil {
			return nil, err
		}
		for _, statement := range append(forget, codec.Statement{Name: "rewind", Args: []any{id, *to, r.Initial}}) {
			if _, err := tx.Exec(ctx, statement.Name, statement.Args...); err != nil {
				return nil, err
			}
		}
		return record.Rewound(before, r), nil
	})
	return before, err
}
