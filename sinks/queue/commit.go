package queue

import (
	"context"
	"fmt"

	"tallyman/internal/combine"
	"tallyman/internal/item"
)

const (
	commitFlights = 2
	commitItems   = 5000 // in one commit
)

// pushRecords is one call of Push on its way to the ledger.
type pushRecords struct {
	records []item.Record
	known   []item.PushAnswer
	// given is used without a ledger. It tells whether the caller gave the id; then an item with that id may come from
	// another push.
	given []bool
}

// newCommits lets concurrent pushes share transactions of the ledger.
func (l *queueLine) newCommits() *combine.Calls[*pushRecords] {
	return &combine.Calls[*pushRecords]{
		Flights: commitFlights,
		Fits: func(parts []*combine.Part[*pushRecords], next *pushRecords) bool {
			items := len(next.records)
			for _, p := range parts {
				items += len(p.What.records)
			}
			return items <= commitItems
		},
		Call: func(ctx context.Context, _ int, parts []*combine.Part[*pushRecords]) { l.commit(ctx, parts) },
	}
}

// commit records the items of several pushes in one transaction. If that fails, each push gets a transaction of its
// own, so that one bad push does not fail the others. If the ledger did not answer in time, there is no second try.
func (l *queueLine) commit(ctx context.Context, parts []*combine.Part[*pushRecords]) {
	ctx, cancel := context.WithTimeoutCause(ctx, callTimeout, fmt.Errorf("no answer from the ledger within %s", callTimeout))
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
			one[0].Err = err
		}
	}
	for _, p := range parts {
		p.Answer()
	}
}

func (l *queueLine) commitOnce(ctx context.Context, parts []*combine.Part[*pushRecords]) error {
	records := parts[0].What.records
	if len(parts) > 1 {
		records = nil
		for _, p := range parts {
			records = append(records, p.What.records...)
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
		n := len(p.What.records)
		p.What.known, known = known[:n:n], known[n:]
	}
	return nil
}
