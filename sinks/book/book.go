// Package book gives push channels the entries of the address book for the recipients of a delivery.
//
// A Book remembers entries for some seconds, so that a burst of notices to the same people asks the ledger once. A
// changed entry is in force after Fresh at the latest.
package book

import (
	"context"
	"fmt"
	"sync"
	"time"

	"tallyman/internal/delivery"
)

// Fresh is how long an entry is remembered.
const Fresh = 5 * time.Second

// most is how many entries are remembered. Beyond that, all are forgotten.
const most = 10_000

// Book is the address book of one push channel. Book is safe for concurrent use.
type Book struct {
	addresses delivery.Addresses
	now       func() time.Time

	mu      sync.Mutex
	entries map[string]entry
}

type entry struct {
	delivery.Subscriber

	until time.Time
}

// New returns a book. now returns the present time.
func New(addresses delivery.Addresses, now func() time.Time) *Book {
	return &Book{addresses: addresses, now: now, entries: map[string]entry{}}
}

// Of returns the entries of the recipients, in their order. A recipient without an entry has only an id.
func (b *Book) Of(ctx context.Context, recipients []string) ([]delivery.Subscriber, error) {
	if len(recipients) == 0 {
		return nil, nil
	}
	list := make([]delivery.Subscriber, len(recipients))
	missing := b.remembered(recipients, list)
	if len(missing) == 0 {
		return list, nil
	}
	found, err := b.addresses.Subscribers(ctx, missing)
	if err != nil {
		return nil, fmt.Errorf("the address book: %w", err)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.entries)+len(missing) > most {
		clear(b.entries)
	}
	until := b.now().Add(Fresh)
	for _, id := range missing {
		s := found[id]
		s.ID = id
		b.entries[id] = entry{s, until}
	}
	for i, id := range recipients {
		if list[i].ID == "" {
			list[i] = b.entries[id].Subscriber
		}
	}
	return list, nil
}

// remembered copies remembered entries to list, and returns the ids of the others.
func (b *Book) remembered(recipients []string, list []delivery.Subscriber) (missing []string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := b.now()
	for i, id := range recipients {
		if e, ok := b.entries[id]; ok && now.Before(e.until) {
			list[i] = e.Subscriber
		} else {
			missing = append(missing, id)
		}
	}
	return missing
}
