package ledgertest

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"tallyman/internal/item"
	"tallyman/internal/ledger"
)

// everything has all data that a recorded change may change, and the number of records.
type everything struct {
	Settings   settings
	Deliveries []ledger.DeliveryRecord
	Numbers    map[string]int64
	Items      []item.Record // of the queue ordered
	Pauses     [2]item.Pause // of the queue ordered and its test twin
	Moves      int64
	Watermark  string // of the rule
	Records    int
}

func look(ctx context.Context, l ledger.Ledger) (e everything, err error) {
	if e.Settings, err = settingsOf(ctx, l); err != nil {
		return e, err
	}
	if e.Deliveries, err = l.ListDeliveries(ctx, ledger.DeliveryFilter{Limit: 100}); err != nil {
		return e, err
	}
	if e.Numbers, err = l.Numbers(ctx); err != nil {
		return e, err
	}
	if e.Items, err = l.UnfinishedItems(ctx, ordered, 0, 10); err != nil {
		return e, err
	}
	for i, queue := range []string{ordered, ordered + ledger.TestTwin} {
		if e.Pauses[i], err = l.QueuePause(ctx, queue); err != nil {
			return e, err
		}
	}
	if e.Moves, err = l.AppliedMoves(ctx, ordered, "e1"); err != nil {
		return e, err
	}
	state, err := l.Scope(ctx, rule, scope)
	if err != nil && !errors.Is(err, ledger.ErrNotFound) {
		return e, err
	}
	e.Watermark = fmt.Sprint(state.Watermark)
	list, err := records(ctx, l)
	e.Records = len(list)
	return e, err
}

func (f *operationChecks) look(t testing.TB) everything {
	t.Helper()
	e, err := look(t.Context(), f.Ledger)
	noError(t, err)
	return e
}
