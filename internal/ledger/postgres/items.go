package postgres

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"

	"tallyman/internal/ledger/rows"
	"tallyman/sinks/queue/item"
)

// pushTries is how often a push looks for items that another has pushed since it looked. Each time one of those who push the
// same at once gets through.
const pushTries = 20

// PushItems implements ledger.Items.
func (l *Ledger) PushItems(ctx context.Context, queue string, items []item.Record) ([]item.Known, error) {
	if len(items) == 0 {
		return nil, nil
	}
	id, err := l.queueID(ctx, queue)
	if err != nil {
		return nil, err
	}
	// Hardly ever has an item been pushed before. Looking would cost as much as the index that tells us if it has.
	for try := range pushTries {
		p := push{queue: id, plan: rows.NewPush(items), look: try > 0}
		if err = l.inTx(ctx, "push items", func(tx pgx.Tx) error { return p.write(ctx, tx) }); err == nil {
			return p.plan.Known, nil
		}
		if !hasState(err, uniqueViolation) {
			break
		}
	}
	return nil, err
}

// push is one transaction on its way.
type push struct {
	queue int32
	plan  *rows.Push
	look  bool // for items that are there already
}

func (p *push) write(ctx context.Context, tx pgx.Tx) error {
	if p.look {
		if err := p.known(ctx, tx); err != nil {
			return err
		}
	}
	var seqs []int64
	count := p.plan.Count()
	if count > 0 {
		if err := tx.QueryRow(ctx, queries.Get("take-item-seqs"), count).Scan(&seqs); err != nil {
			return err
		}
		if len(seqs) != count {
			return fmt.Errorf("take-item-seqs: %d numbers for %d items", len(seqs), count)
		}
	}
	items := p.plan.Rows(seqs)
	if err := p.copyOpen(items).run(ctx, tx, "copy-open-items"); err != nil {
		return err
	}
	return p.copyItems(items).run(ctx, tx, "copy-items")
}

// known finds the items that are there.
func (p *push) known(ctx context.Context, tx pgx.Tx) error {
	found, err := tx.Query(ctx, queries.Get("known-items"), p.queue, p.plan.IDs())
	if err != nil {
		return err
	}
	var id, state string
	var seq int64
	_, err = pgx.ForEachRow(found, []any{&id, &seq, &state}, func() error { return p.plan.Is(id, seq, state) })
	return err
}

// copyItems makes the rows of items. They go in sorted by id: the index takes neighbours faster, and two who push the
// same items never wait for each other in a circle.
func (p *push) copyItems(items []rows.Item) *copyRows {
	const fixed = 2 + 13*4 + 4*8 + 4 + 2
	size := 0
	for i := range items {
		r := &items[i]
		size += fixed + len(r.ID) + len(r.Bucket) + len(r.Key) + len(r.Subject) + len(r.By) + len(r.Node) + len(r.Payload)
	}
	slices.SortFunc(items, func(a, b rows.Item) int { return strings.Compare(a.ID, b.ID) })
	out := newCopyRows(size)
	for i := range items {
		r := &items[i]
		out.row(13)
		out.int64(r.Seq)
		out.int64(r.Created)
		out.int64(r.Ready)
		out.int64(r.Until)
		out.int32(p.queue)
		out.int16(r.Priority)
		for _, text := range [...]string{r.ID, r.Bucket, r.Key, r.Subject, r.By, r.Node} {
			out.text(text)
		}
		out.bytes(r.Payload)
	}
	return out
}

// copyOpen makes the rows of open_items.
func (p *push) copyOpen(items []rows.Item) *copyRows {
	const each = 2 + 10*4 + 4*8 + 4*4 + 1
	out := newCopyRows(each * len(items))
	for i := range items {
		r := &items[i]
		out.row(10)
		out.int64(r.Seq)
		out.int64(r.Moves)
		out.int64(r.Due)
		out.int64(r.SubjectHash)
		out.int32(p.queue)
		out.int32(r.Attempt)
		out.int32(r.Failures)
		out.int32(r.Suspends)
		out.text(r.State)
		out.text(r.Assignee)
	}
	return out
}

// RefuseItems implements ledger.Items.
func (l *Ledger) RefuseItems(ctx context.Context, queue string, refused []item.Refusal) error {
	if len(refused) == 0 {
		return nil
	}
	id, err := l.queueID(ctx, queue)
	if err != nil {
		return err
	}
	bySeq := make(map[int64]*item.Refusal, len(refused))
	seqs := make([]int64, len(refused))
	for i := range refused {
		seqs[i] = refused[i].Seq
		bySeq[seqs[i]] = &refused[i]
	}
	return l.inTx(ctx, "refuse items", func(tx pgx.Tx) error {
		found, err := tx.Query(ctx, queries.Get("refuse-items"), id, seqs)
		if err != nil {
			return err
		}
		var was rows.Standing
		var traces []rows.Trail
		targets := []any{&was.Seq, &was.N, &was.State, &was.Attempt, &was.Failures, &was.Suspends, &was.Assignee}
		_, err = pgx.ForEachRow(found, targets, func() error {
			trail, err := rows.Refused(bySeq[was.Seq], &was)
			traces = append(traces, trail)
			return err
		})
		if err != nil {
			return err
		}
		return copyMoves(traces).run(ctx, tx, "copy-item-moves")
	})
}
