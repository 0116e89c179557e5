package queue

import (
	"context"
	"fmt"
	"time"

	"tallyman/internal/delivery"
	"tallyman/internal/item"
	"tallyman/internal/notice"
	"tallyman/sinks"
)

// Deliver makes items of notices, in order: the notice is the payload, its priority the item's, and an item holds the rule, scope
// and key of its notice as its dedupe key. A resolution makes none: it takes back the items of its finding that no worker
// has. A notice that can be no item is refused for good. The lane says nothing to a queue.
func (q *Queue) Deliver(ctx context.Context, _ string, batch []delivery.Delivery) ([]delivery.Receipt, error) {
	work, err := newWork(batch)
	if err != nil {
		return nil, err
	}
	for len(work) > 0 {
		n := alike(work)
		if work[0].resolution {
			err = q.takeBack(ctx, work[:n])
		} else {
			err = q.takeIn(ctx, work[:n])
		}
		if err != nil {
			return nil, err
		}
		work = work[n:]
	}
	receipts := make([]delivery.Receipt, len(batch))
	for i, d := range batch {
		receipts[i].Seq = d.Seq
	}
	return receipts, nil
}

// work is what one notice comes to.
type work struct {
	seq        int64 // of the delivery
	notice     *notice.Notice
	resolution bool
	item       item.New // unless it is a resolution
}

// newWork makes the items of a batch, or refuses those that can be none.
func newWork(batch []delivery.Delivery) ([]work, error) {
	list := make([]work, len(batch))
	var refused sinks.RefusedError
	now := time.Now()
	for i, d := range batch {
		w := &list[i]
		w.seq, w.notice, w.resolution = d.Seq, d.Notice, d.Notice.Status == notice.Resolved
		if w.resolution {
			continue
		}
		var err error
		if w.item, err = newItem(d.Notice, now); err == nil {
			err = checkNew(i, &w.item)
		}
		if err != nil {
			refused.Seqs = append(refused.Seqs, d.Seq)
			refused.Err = fmt.Errorf("queue: notice %s: %w", d.Notice.ID, err)
		}
	}
	if len(refused.Seqs) > 0 {
		return nil, &refused
	}
	return list, nil
}

// alike counts the notices at the beginning that one call can take.
func alike(list []work) int {
	for i := range list {
		if list[i].resolution != list[0].resolution || i == item.MaxBatch {
			return i
		}
	}
	return len(list)
}

// takeIn pushes the items. Those of a notice that comes again exist, and one whose finding has an item already is refused as
// its duplicate: both are as they should be. One whose id an item of another warehouse has is refused for good.
func (q *Queue) takeIn(ctx context.Context, list []work) error {
	items := make([]item.New, len(list))
	for i := range list {
		items[i] = list[i].item
	}
	results, err := q.Push(ctx, false, maker(list), items)
	if err != nil {
		return err
	}
	var refused sinks.RefusedError
	for i, r := range results {
		if r.Outcome == item.IDTaken {
			refused.Seqs = append(refused.Seqs, list[i].seq)
			refused.Err = fmt.Errorf("queue: notice %s: an item of another warehouse has its id", r.ID)
		}
	}
	if len(refused.Seqs) > 0 {
		return &refused
	}
	return nil
}

// maker is who pushes, for the trace: the rule, where all come from one.
func maker(list []work) string {
	for i := range list {
		if list[i].notice.Rule != list[0].notice.Rule {
			return ""
		}
	}
	if list[0].notice.Rule == "" {
		return ""
	}
	return "rule:" + list[0].notice.Rule
}
