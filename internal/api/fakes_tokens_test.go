package api_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"tallyman/internal/ledger"
)

// fakeTokens keeps tokens as a ledger does.
type fakeTokens struct {
	mu   sync.Mutex
	list []ledger.Token
}

func (f *fakeTokens) AddToken(_ context.Context, _ ledger.Author, t ledger.Token) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.list = slices.Insert(f.list, 0, t)
	return nil
}

func (f *fakeTokens) ListTokens(context.Context) ([]ledger.Token, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.list), nil
}

func (f *fakeTokens) RevokeToken(_ context.Context, who ledger.Author, id string, at time.Time) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	for i := range f.list {
		if t := &f.list[i]; t.ID == id {
			if t.Revoked.IsZero() {
				t.Revoked, t.RevokedBy = at, who.By
			}
			return nil
		}
	}
	return fmt.Errorf("%w: token %s", ledger.ErrNotFound, id)
}
