package queue

import (
	"context"
	"fmt"

	"tallyman/internal/item"
)

const (
	commitFlights = 2
	commitItems   = 5000 // in one commit
)

// pushed is what a call of Push wants to have in the ledger.
type pushed struct {
	records []item.Record
	known   []item.Known
	given   []bool // without a ledger: the caller gave the id, so that one that exists is not this push's own
}

// newCommits lets pushes that come at the same time share commits of the ledger.
func (l *line) newCommits() *combiner[*pushed] {
	return &combiner[*pushed]{
		flights: commitFlights,
		fits: func(parts []*part[*pushed], next *pushed) bool {
			items := len(next.records)
			for _, p := range parts {
				items += len(p.what.records)
			}
			return items <= commitItems
		},
		call: func(ctx context.Context, _ int, parts []*part[*pushed]) { l.commit(ctx, parts) },
	}
}

// commit records the items of some pushes in one transaction. Where that fails each push has one of its own, so that nobody
// fails because of what another wants to push. A ledger that does not answer is not asked again for each.
func (l *line) commit(ctx context.Context, parts []*part[*pushed]) {
	ctx, cancel := context.WithTimeoutCause(ctx, patience, fmt.Errorf("no answer from the ledger within %s", patience))
	defer cancel()
	if err := l.commitOnce(ctx, parts); err != nil {
		for i := range parts {
			one := parts[i : i+1]
			switch {
			case ctx.Err() != nil:
				err = fmt.Errorf("ledger: %w", context.Cause(ctx))
			case len(parts) > 1:
				err = l.commitOnce(ctx, one)
			}
			one[0].err = err
		}
	}
	for _, p := range parts {
		p.answer()
	}
}

func (l *line) commitOnce(ctx context.Context, parts []*part[*pushed]) error {
	records := parts[0].what.records
	if len(parts) > 1 {
		records = nil
		for _, p := range parts {
			records = append(records, p.what.records...)
		}
	}
	known, err := l.o.Ledger.PushItems(ctx, l.name, records)
	if err != nil {
		return fmt.Errorf("ledger: %w", err)
	}
	if len(known) != len(records) {
		return fmt.Errorf("ledger: %d answers for %d items", len(known), len(records))
	}
	for _, p := range parts {
		n := len(p.what.records)
		p.what.known, known = known[:n:n], known[n:]
	}
	return nil
}
