package store

import (
	"context"
	"fmt"
	"math"
	"time"

	"tallyman/internal/item"
	"tallyman/internal/ledger"
	"tallyman/internal/ledger/codec"
	"tallyman/internal/ledger/record"
)

// byKey is the plan for statements that must find their rows by index only; see sql/items.sql of PostgreSQL.
const byKey = "by-key"

// queueStore is ledger.Queues without the methods that each engine implements itself.
type queueStore struct{ *base }

// AppliedMoves implements item.Journal.
func (s *queueStore) AppliedMoves(ctx context.Context, queue, epoch string) (int64, error) {
	var position int64
	_, err := s.db.One(ctx, "applied", []any{queue, epoch}, &position)
	return position, err
}

// UnfinishedItems implements item.Journal.
func (s *queueStore) UnfinishedItems(ctx context.Context, queue string, after int64, limit int) ([]item.Record, error) {
	id, found, err := s.IDs.Queue(ctx, queue)
	if err != nil || !found {
		return nil, err
	}
	var row codec.Item
	records, err := s.records(ctx, "unfinished-items", []any{id, after, limit}, &row, row.Columns())
	if err != nil {
		return nil, err
	}
	for i := range records {
		if news := records[i].News; news != nil && news.Source != 0 {
			if _, err := s.db.One(ctx, "payload", []any{id, news.Source}, &news.Payload); err != nil {
				return nil, err
			}
		}
	}
	return records, nil
}

// Reopen lets the items of a push that have ended, and are pushed with Again, begin another life. forget removes the
// records of one ended item.
func Reopen(ctx context.Context, c Conn, queue int64, p *codec.Push, forget func(seq int64) error) error {
	for _, ended := range p.Ended() {
		var row codec.Item
		found, err := c.One(ctx, "item", []any{queue, ended.ID}, row.Columns()...)
		if err != nil {
			return err
		}
		if !found || row.Seq != ended.Seq || row.State != "" { // Another push has reopened the item meanwhile.
			continue
		}
		r, err := row.Record()
		if err != nil {
			return err
		}
		moves, err := movesOf(ctx, c, []int64{row.Seq})
		if err != nil {
			return err
		}
		_, trace := codec.CompleteTrace(r, moves[row.Seq])
		if !p.Reopen(ended.ID, trace) {
			continue
		}
		if err := forget(row.Seq); err != nil {
			return err
		}
	}
	return nil
}

// records reads items. columns are the targets for each row and must point into row.
func (s *queueStore) records(ctx context.Context, name string, args []any, row *codec.Item, columns []any) ([]item.Record, error) {
	var out []item.Record
	err := s.db.EachPlanned(ctx, byKey, name, args, columns, func() error {
		r, err := row.Record()
		out = append(out, r)
		return err
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// HeldKeys implements item.Journal.
func (s *queueStore) HeldKeys(ctx context.Context, queue string, now time.Time, after int64, limit int) ([]item.HeldKey, error) {
	id, found, err := s.IDs.Queue(ctx, queue)
	if err != nil || !found {
		return nil, err
	}
	if after <= 0 { // Otherwise an earlier page has passed the keys whose windows are over.
		var first int64
		if _, err := s.db.One(ctx, "first-window", []any{id, codec.Micros(now)}, &first); err != nil || first == 0 {
			return nil, err
		}
		after = first - 1
	}
	var out []item.HeldKey
	var k item.HeldKey
	var until int64
	args := []any{id, codec.Micros(now), after, limit}
	err = s.db.EachPlanned(ctx, byKey, "held-keys", args, []any{&k.Seq, &k.ID, &k.Bucket, &until}, func() error {
		k.Until = codec.Time(until)
		out = append(out, k)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// SubjectItems implements item.Records.
func (s *queueStore) SubjectItems(ctx context.Context, queue string, subjects []string) ([][]string, error) {
	out := make([][]string, len(subjects))
	queueID, found, err := s.IDs.Queue(ctx, queue)
	if err != nil || !found {
		return out, err
	}
	hashes, texts := make([]int64, len(subjects)), make([]string, len(subjects))
	for i, subject := range subjects {
		texts[i] = codec.Text(subject)
		hashes[i] = codec.SubjectHash(texts[i])
	}
	var place int64
	var id string
	err = s.db.EachPlanned(ctx, byKey, "subject-items", []any{queueID, hashes, texts}, []any{&place, &id}, func() error {
		out[place-1] = append(out[place-1], id)
		return nil
	})
	return out, err
}

// ItemTrace implements item.Records.
func (s *queueStore) ItemTrace(ctx context.Context, queue, id string) (item.Record, []item.Move, error) {
	queueID, found, err := s.IDs.Queue(ctx, queue)
	if err != nil {
		return item.Record{}, nil, err
	}
	var row codec.Item
	if found {
		if found, err = s.db.One(ctx, "item", []any{queueID, id}, row.Columns()...); err != nil {
			return item.Record{}, nil, err
		}
	}
	if !found {
		return item.Record{}, nil, fmt.Errorf("%w: item %q of queue %q", ledger.ErrNotFound, id, queue)
	}
	r, err := row.Record()
	if err != nil {
		return item.Record{}, nil, fmt.Errorf("ledger: item: %w", err)
	}
	moves, err := movesOf(ctx, s.db, []int64{r.Seq})
	if err != nil {
		return item.Record{}, nil, err
	}
	r, trace := codec.CompleteTrace(r, moves[r.Seq])
	return r, trace, nil
}

// movesOf returns the moves of items, in order.
func movesOf(ctx context.Context, c Conn, seqs []int64) (map[int64][]item.Move, error) {
	out := make(map[int64][]item.Move, len(seqs))
	var seq int64
	var text string
	err := c.Each(ctx, "item-moves", []any{seqs}, []any{&seq, &text}, func() error {
		var err error
		out[seq], err = codec.ParseMoves(out[seq], seq, text)
		return err
	})
	if err != nil {
		return nil, err
	}
	for _, moves := range out {
		codec.SortMoves(moves)
	}
	return out, nil
}

// LastLeases implements item.Records.
func (s *queueStore) LastLeases(ctx context.Context, queue string, scope item.Scope) (map[string]time.Time, error) {
	id, found, err := s.IDs.Queue(ctx, queue)
	if err != nil || !found {
		return nil, err
	}
	var warehouses any
	if scope != nil {
		warehouses = []string(scope)
	}
	last := map[string]time.Time{}
	var seq int64
	var text string
	var moves []item.Move
	err = s.db.Each(ctx, "last-moves", []any{id, item.MovesLookedAt, warehouses}, []any{&seq, &text}, func() error {
		var err error
		if moves, err = codec.ParseMoves(moves[:0], seq, text); err != nil {
			return err
		}
		for i := range moves {
			if m := &moves[i]; m.To == item.Leased && m.By != "" && m.At.After(last[m.By]) {
				last[m.By] = m.At
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return last, nil
}

// EndedItems implements item.Records.
func (s *queueStore) EndedItems(
	ctx context.Context, queue string, state item.State, scope item.Scope, before int64, limit int,
) (page []item.Record, next int64, err error) {
	if !state.Ended() {
		return nil, 0, fmt.Errorf("%w: %q is no end of an item", ledger.ErrInvalid, state)
	}
	id, found, err := s.IDs.Queue(ctx, queue)
	if err != nil || !found {
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
		if _, err := s.db.One(ctx, bound, append([]any{id, before, ledger.LookedAt}, ends...), &looked); err != nil {
			return nil, 0, err
		}
		warehouses = []string(scope)
	}
	var row codec.Item
	records, err := s.records(ctx, name, append([]any{id, before, limit + 1, looked, warehouses}, ends...), &row, row.ItemColumns())
	if err != nil {
		return nil, 0, err
	}
	page, next = codec.Page(records, limit, looked)
	return page, next, s.stand(ctx, page)
}

// KeyItems implements item.Records.
func (s *queueStore) KeyItems(
	ctx context.Context, queue, key string, scope item.Scope, before int64, limit int,
) (page []item.Record, next int64, err error) {
	id, found, err := s.IDs.Queue(ctx, queue)
	if err != nil || !found {
		return nil, 0, err
	}
	if before <= 0 {
		before = math.MaxInt64
	}
	var warehouses any
	if scope != nil {
		warehouses = []string(scope)
	}
	var row codec.Item
	records, err := s.records(ctx, "key-items", []any{id, codec.Text(key), before, limit + 1, warehouses}, &row, row.Columns())
	if err != nil {
		return nil, 0, err
	}
	page, next = codec.Page(records, limit, 0)
	return page, next, s.stand(ctx, page)
}

// stand completes the items of the page that have ended with their state after the last move.
func (s *queueStore) stand(ctx context.Context, page []item.Record) error {
	var ended []int64
	for i := range page {
		if page[i].State == "" {
			ended = append(ended, page[i].Seq)
		}
	}
	moves, err := movesOf(ctx, s.db, ended)
	if err != nil {
		return err
	}
	for i := range page {
		if page[i].State == "" {
			codec.Stand(&page[i], moves[page[i].Seq])
		}
	}
	return nil
}

// QueuePause implements item.Records.
func (s *queueStore) QueuePause(ctx context.Context, queue string) (item.Pause, error) {
	id, found, err := s.IDs.Queue(ctx, queue)
	if err != nil || !found {
		return item.Pause{}, err
	}
	return pauseOf(ctx, s.db, id)
}

func pauseOf(ctx context.Context, c Conn, queue int64) (item.Pause, error) {
	var p item.Pause
	var at int64
	_, err := c.One(ctx, "queue-pause", []any{queue}, &p.Paused, &p.By, &at)
	p.At = codec.Time(at)
	return p, err
}

// SetQueuePause implements item.Records.
func (s *queueStore) SetQueuePause(ctx context.Context, o *item.Order, queue string, p item.Pause) error {
	id, err := s.IDs.MakeQueue(ctx, queue)
	if err != nil {
		return err
	}
	p.By = codec.Text(p.By)
	return s.change(ctx, "set queue pause", ledger.Author{By: o.By, Via: ledger.Via(o.Via)}, func(tx Conn) (*ledger.Change, error) {
		before, err := pauseOf(ctx, tx, id)
		if err != nil {
			return nil, err
		}
		if _, err := tx.Exec(ctx, "set-queue-pause", id, p.Paused, p.By, codec.Micros(p.At)); err != nil {
			return nil, err
		}
		return record.QueuePaused(queue, before, p), nil
	})
}
