package api_test

import (
	"context"
	"sync"

	"tallyman/internal/delivery"
	"tallyman/internal/ledger"
	"tallyman/internal/wire"
	"tallyman/sinks/inbox/page"
)

// fakeReads is an inbox that records its calls. Its clock stands at 100, and the name of a cursor is its score.
type fakeReads struct {
	mu      sync.Mutex
	marks   []delivery.Mark
	all     []delivery.Watermark
	queries []page.Query
	sum     page.Summary
	err     error
	slow    bool // Mark and ReadAll do not answer before their context ends
}

func (f *fakeReads) Mark(ctx context.Context, marks []delivery.Mark) error {
	f.hang(ctx)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.marks = append(f.marks, marks...)
	return f.err
}

func (f *fakeReads) ReadAll(ctx context.Context, list []delivery.Watermark) error {
	f.hang(ctx)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.all = append(f.all, list...)
	return f.err
}

func (f *fakeReads) hang(ctx context.Context) {
	if f.slow {
		<-ctx.Done()
	}
}

func (f *fakeReads) UpTo(_ context.Context, _, cursor string) (int64, error) {
	switch cursor {
	case "c70":
		return 70, nil
	case "elsewhere":
		return 0, page.ErrForeignCursor
	case "later":
		return 0, page.ErrUnavailable
	case "broken":
		return 0, errBroken
	}
	return 0, page.ErrBadCursor
}

func (f *fakeReads) Summary(_ context.Context, q page.Query) (page.Summary, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.queries = append(f.queries, q)
	return f.sum, f.err
}

// ReadAll records what is read.
func (f *fakeMarks) ReadAll(_ context.Context, r ledger.ReadAll) (int, error) {
	if f.err != nil {
		return 0, f.err
	}
	f.all = append(f.all, r)
	return 0, nil
}

// ruleCount says of warehouse 119240 that one rule fails.
func ruleCount(_ context.Context, warehouse string) wire.RuleCount {
	if warehouse == "119240" {
		return wire.RuleCount{OK: 7, Failing: 1}
	}
	return wire.RuleCount{OK: 7}
}
