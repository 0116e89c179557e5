package demo

import (
	"context"
	"fmt"

	"tallyman/internal/item"
	"tallyman/internal/ledger"
)

const workPage = 1000 // items read at a time

// work is what became of the items of the queue.
type work struct {
	done, removed int // removed: their fault was gone before anybody took them
	left, putOff  int // not finished yet, and those of them that were put off
}

// countWork reads it from the ledger.
func countWork(ctx context.Context, l ledger.Queues) (w work, err error) {
	if w.done, err = countEnded(ctx, l, item.Done); err != nil {
		return w, err
	}
	if w.removed, err = countEnded(ctx, l, item.Removed); err != nil {
		return w, err
	}
	for after := int64(0); ; {
		page, err := l.UnfinishedItems(ctx, queueName, after, workPage)
		if err != nil || len(page) == 0 {
			return w, err
		}
		for i := range page {
			w.left++
			if page[i].State == item.Suspended || page[i].State == item.Stored {
				w.putOff++
			}
		}
		after = page[len(page)-1].Seq
	}
}

func countEnded(ctx context.Context, l item.Records, state item.State) (n int, err error) {
	for before := int64(0); ; {
		page, next, err := l.EndedItems(ctx, queueName, state, nil, before, workPage)
		n += len(page)
		if err != nil || next == 0 {
			return n, err
		}
		before = next
	}
}

func (w work) String() string {
	return fmt.Sprintf("The queue had %d items: %d done, %d taken back because the bin was full again, %d left, %d of them put off.",
		w.done+w.removed+w.left, w.done, w.removed, w.left, w.putOff)
}
