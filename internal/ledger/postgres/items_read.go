package postgres

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/jackc/pgx/v5"

	"tallyman/internal/item"
	"tallyman/internal/ledger"
	"tallyman/internal/ledger/rows"
)

// UnfinishedItems implements ledger.Items.
func (l *Ledger) UnfinishedItems(ctx context.Context, queue string, after int64, limit int) ([]item.Record, error) {
	id, err := l.findQueue(ctx, queue)
	if err != nil {
		return nil, noQueue(err)
	}
	return queryByKey(ctx, l, "unfinished-items", func(r pgx.CollectableRow) (item.Record, error) {
		var i rows.Item
		if err := r.Scan(i.Columns()...); err != nil {
			return item.Record{}, err
		}
		return i.Record()
	}, id, after, limit)
}

// HeldKeys implements ledger.Items.
func (l *Ledger) HeldKeys(ctx context.Context, queue string, now time.Time, after int64, limit int) ([]item.HeldKey, error) {
	id, err := l.findQueue(ctx, queue)
	if err != nil {
		return nil, noQueue(err)
	}
	if after <= 0 { // else the page before has passed those whose windows are over
		var first *int64
		if err := l.pool.QueryRow(ctx, queries.Get("first-window"), id, rows.Micros(now)).Scan(&first); err != nil {
			return nil, failed("held keys", err)
		}
		if first == nil {
			return nil, nil
		}
		after = *first - 1
	}
	return queryByKey(ctx, l, "held-keys", func(r pgx.CollectableRow) (item.HeldKey, error) {
		var k item.HeldKey
		var until int64
		err := r.Scan(&k.Seq, &k.ID, &k.Bucket, &until)
		k.Until = rows.Time(until)
		return k, err
	}, id, rows.Micros(now), after, limit)
}

// SubjectItems implements ledger.ItemRecords.
func (l *Ledger) SubjectItems(ctx context.Context, queue string, subjects []string) ([][]string, error) {
	out := make([][]string, len(subjects))
	id, err := l.findQueue(ctx, queue)
	if err != nil {
		return out, noQueue(err)
	}
	hashes, texts := make([]int64, len(subjects)), make([]string, len(subjects))
	for i, subject := range subjects {
		texts[i] = rows.Text(subject)
		hashes[i] = rows.SubjectHash(texts[i])
	}
	type made struct {
		Place int64
		ID    string
	}
	found, err := queryByKey(ctx, l, "subject-items", pgx.RowToStructByPos[made], id, hashes, texts)
	for _, m := range found {
		out[m.Place-1] = append(out[m.Place-1], m.ID)
	}
	return out, err
}

// ItemTrace implements ledger.ItemRecords.
func (l *Ledger) ItemTrace(ctx context.Context, queue, id string) (item.Record, []item.Move, error) {
	notFound := fmt.Errorf("%w: item %q of queue %q", ledger.ErrNotFound, id, queue)
	queueID, err := l.findQueue(ctx, queue)
	if errors.Is(err, ledger.ErrNotFound) {
		return item.Record{}, nil, notFound
	}
	if err != nil {
		return item.Record{}, nil, err
	}
	var i rows.Item
	err = l.pool.QueryRow(ctx, queries.Get("item"), queueID, id).Scan(i.Columns()...)
	if errors.Is(err, pgx.ErrNoRows) {
		return item.Record{}, nil, notFound
	}
	if err != nil {
		return item.Record{}, nil, failed("item", err)
	}
	r, err := i.Record()
	if err != nil {
		return item.Record{}, nil, failed("item", err)
	}
	moves, err := l.moves(ctx, []int64{r.Seq})
	if err != nil {
		return item.Record{}, nil, err
	}
	r, trace := rows.Traced(r, moves[r.Seq])
	return r, trace, nil
}

// moves returns the moves of items, in order.
func (l *Ledger) moves(ctx context.Context, seqs []int64) (map[int64][]item.Move, error) {
	found, err := l.pool.Query(ctx, queries.Get("item-moves"), seqs)
	if err != nil {
		return nil, failed("item moves", err)
	}
	out := make(map[int64][]item.Move, len(seqs))
	var seq int64
	var text string
	_, err = pgx.ForEachRow(found, []any{&seq, &text}, func() error {
		var err error
		out[seq], err = rows.ParseMoves(out[seq], seq, text)
		return err
	})
	if err != nil {
		return nil, failed("item moves", err)
	}
	for _, list := range out {
		rows.SortMoves(list)
	}
	return out, nil
}

// EndedItems implements ledger.ItemRecords.
func (l *Ledger) EndedItems(
	ctx context.Context, queue string, state item.State, scope item.Scope, before int64, limit int,
) (list []item.Record, next int64, err error) {
	if !state.Ended() {
		return nil, 0, fmt.Errorf("%w: %q is no end of an item", ledger.ErrInvalid, state)
	}
	id, err := l.findQueue(ctx, queue)
	if err != nil {
		return nil, 0, noQueue(err)
	}
	if before <= 0 {
		before = math.MaxInt64
	}
	looked, bound, name := int64(0), "looked-items", "done-items"
	ends := []any{}
	if state != item.Done {
		bound, name, ends = "looked-early-items", "early-items", []any{state.Letter()}
	}
	if scope != nil {
		err := l.pool.QueryRow(ctx, queries.Get(bound), append([]any{id, before, ledger.LookedAt}, ends...)...).Scan(&looked)
		if err := ignoreNone(err); err != nil {
			return nil, 0, failed("ended items", err)
		}
	}
	list, err = queryByKey(ctx, l, name, func(r pgx.CollectableRow) (item.Record, error) {
		var i rows.Item
		if err := r.Scan(i.ItemColumns()...); err != nil {
			return item.Record{}, err
		}
		return i.Record()
	}, append([]any{id, before, limit + 1, looked, []string(scope)}, ends...)...)
	if err != nil {
		return nil, 0, err
	}
	list, next = rows.Page(list, limit, looked)
	moves, err := l.moves(ctx, rows.Seqs(list))
	if err != nil {
		return nil, 0, err
	}
	for i := range list {
		rows.Stand(&list[i], moves[list[i].Seq])
	}
	return list, next, nil
}
