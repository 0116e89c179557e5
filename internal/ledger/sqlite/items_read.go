package sqlite

import (
	"context"
	"fmt"
	"math"
	"time"

	"tallyman/internal/item"
	"tallyman/internal/ledger"
	"tallyman/internal/ledger/rows"
)

// UnfinishedItems implements ledger.Items.
func (l *Ledger) UnfinishedItems(ctx context.Context, queue string, after int64, limit int) ([]item.Record, error) {
	id, err := l.findQueue(ctx, queue)
	if err != nil {
		return nil, err
	}
	var i rows.Item
	return l.records(ctx, "unfinished-items", []any{id, after, limit}, &i, i.Columns())
}

// records reads items. Each row is scanned into the columns, which are those of i.
func (l *Ledger) records(ctx context.Context, name string, args []any, i *rows.Item, columns []any) ([]item.Record, error) {
	var out []item.Record
	err := each(ctx, l.read, name, args, columns, func() error {
		r, err := i.Record()
		out = append(out, r)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("ledger: %w", err)
	}
	return out, nil
}

// HeldKeys implements ledger.Items.
func (l *Ledger) HeldKeys(ctx context.Context, queue string, now time.Time, after int64, limit int) ([]item.HeldKey, error) {
	id, err := l.findQueue(ctx, queue)
	if err != nil {
		return nil, err
	}
	if after <= 0 { // else the page before has passed those whose windows are over
		var first int64
		if _, err := one(ctx, l.read, "first-window", []any{id, rows.Micros(now)}, &first); err != nil {
			return nil, fmt.Errorf("ledger: %w", err)
		}
		if first == 0 {
			return nil, nil
		}
		after = first - 1
	}
	var out []item.HeldKey
	var k item.HeldKey
	var until int64
	err = each(ctx, l.read, "held-keys", []any{id, rows.Micros(now), after, limit}, []any{&k.Seq, &k.ID, &k.Bucket, &until}, func() error {
		k.Until = rows.Time(until)
		out = append(out, k)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("ledger: %w", err)
	}
	return out, nil
}

// SubjectItems implements ledger.ItemRecords.
func (l *Ledger) SubjectItems(ctx context.Context, queue string, subjects []string) ([][]string, error) {
	id, err := l.findQueue(ctx, queue)
	if err != nil {
		return nil, err
	}
	out := make([][]string, len(subjects))
	for i, subject := range subjects {
		subject = rows.Text(subject)
		var found string
		err = each(ctx, l.read, "subject-items", []any{id, rows.SubjectHash(subject), subject}, []any{&found}, func() error {
			out[i] = append(out[i], found)
			return nil
		})
		if err != nil {
			return nil, fmt.Errorf("ledger: %w", err)
		}
	}
	return out, nil
}

// ItemTrace implements ledger.ItemRecords.
func (l *Ledger) ItemTrace(ctx context.Context, queue, id string) (item.Record, []item.Move, error) {
	queueID, err := l.findQueue(ctx, queue)
	if err != nil {
		return item.Record{}, nil, err
	}
	var i rows.Item
	list, err := l.records(ctx, "item", []any{queueID, id}, &i, i.Columns())
	if err != nil {
		return item.Record{}, nil, err
	}
	if len(list) == 0 {
		return item.Record{}, nil, fmt.Errorf("%w: item %q of queue %q", ledger.ErrNotFound, id, queue)
	}
	moves, err := l.moves(ctx, rows.Seqs(list))
	if err != nil {
		return item.Record{}, nil, err
	}
	r, trace := rows.Traced(list[0], moves[list[0].Seq])
	return r, trace, nil
}

// moves returns the moves of items, in order.
func (l *Ledger) moves(ctx context.Context, seqs []int64) (map[int64][]item.Move, error) {
	out := make(map[int64][]item.Move, len(seqs))
	var seq int64
	var text string
	err := each(ctx, l.read, "item-moves", []any{list(seqs)}, []any{&seq, &text}, func() error {
		var err error
		out[seq], err = rows.ParseMoves(out[seq], seq, text)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("ledger: %w", err)
	}
	for _, list := range out {
		rows.SortMoves(list)
	}
	return out, nil
}

// EndedItems implements ledger.ItemRecords.
func (l *Ledger) EndedItems(
	ctx context.Context, queue string, state item.State, scope item.Scope, before int64, limit int,
) (page []item.Record, next int64, err error) {
	if !state.Ended() {
		return nil, 0, fmt.Errorf("%w: %q is no end of an item", ledger.ErrInvalid, state)
	}
	id, err := l.findQueue(ctx, queue)
	if err != nil {
		return nil, 0, err
	}
	if before <= 0 {
		before = math.MaxInt64
	}
	looked, bound, name := int64(0), "looked-items", "done-items"
	ends := []any{}
	if state != item.Done {
		bound, name, ends = "looked-early-items", "early-items", []any{state.Letter()}
	}
	var warehouses any
	if scope != nil {
		if _, err := one(ctx, l.read, bound, append([]any{id, before, ledger.LookedAt}, ends...), &looked); err != nil {
			return nil, 0, fmt.Errorf("ledger: %w", err)
		}
		warehouses = list(scope)
	}
	var i rows.Item
	found, err := l.records(ctx, name, append([]any{id, before, limit + 1, looked, warehouses}, ends...), &i, i.ItemColumns())
	if err != nil {
		return nil, 0, err
	}
	page, next = rows.Page(found, limit, looked)
	moves, err := l.moves(ctx, rows.Seqs(page))
	if err != nil {
		return nil, 0, err
	}
	for i := range page {
		rows.Stand(&page[i], moves[page[i].Seq])
	}
	return page, next, nil
}
