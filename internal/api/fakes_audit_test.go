package api_test

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"tallyman/internal/ledger"
)

// fakeAudit keeps the contract of ledger.Audit in memory.
type fakeAudit struct {
	mu   sync.Mutex
	list []ledger.Change
	err  error
}

func (f *fakeAudit) AddChange(_ context.Context, c *ledger.Change) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.err != nil {
		return f.err
	}
	one := *c
	one.Seq, one.At = int64(len(f.list)+1), time.Date(2026, 6, 1, 8, len(f.list), 0, 0, time.UTC)
	f.list = append(f.list, one)
	return nil
}

func (f *fakeAudit) Changes(_ context.Context, q ledger.ChangeFilter) (out []ledger.Change, more bool, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, c := range slices.Backward(f.list) {
		if begins(c.Object, q.Object, ":") && begins(c.Action, q.Action, ".") && matches(q.By, c.By) && !c.At.Before(q.Since) &&
			(q.Before == 0 || c.Seq < q.Before) {
			if len(out) == q.Limit {
				return out, true, f.err
			}
			out = append(out, c)
		}
	}
	return out, false, f.err
}

func begins(whole, with, separator string) bool {
	return with == "" || whole == with || strings.HasPrefix(whole, with+separator)
}

func (f *fakeAudit) all() []ledger.Change {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.list)
}

func (f *fakeAudit) fail(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.err = err
}
