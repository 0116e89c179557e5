package lineage

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"sync"
	"time"

	"tallyman/internal/ledger"
)

const (
	growEvery   = 5 * time.Second // No mark covers the commits since the last growth, so this bounds how many commits have no mark.
	growTimeout = 5 * time.Second // for one call of the ledger
)

// Branch is the branch of this node. It is safe for concurrent use.
type Branch struct {
	ledger ledger.BranchKeeper
	log    *slog.Logger

	mu     sync.Mutex
	name   string
	number int64 // the number that the ledger has; 0 = the ledger does not have the branch yet
	forks  int64 // how often the ledger no longer knew the branch
}

// Begin begins a branch for this node in the ledger.
func Begin(ctx context.Context, l ledger.BranchKeeper, log *slog.Logger) (*Branch, error) {
	b := &Branch{ledger: l, log: log, name: rand.Text()}
	if err := b.Grow(ctx); err != nil {
		return nil, fmt.Errorf("begin a branch in the ledger: %w", err)
	}
	return b, nil
}

// Reader returns a branch that never grows and has no mark, for callers that only compare the ledger with marks.
func Reader(l ledger.BranchKeeper) *Branch { return &Branch{ledger: l} }

// Run grows the branch every five seconds until the context ends. A failed call is repeated at the next tick.
func (b *Branch) Run(ctx context.Context) {
	tick := time.NewTicker(growEvery)
	defer tick.Stop()
	failed := false // the log reports a series of failures once
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		err := b.Grow(ctx)
		if err != nil && ctx.Err() == nil && !failed {
			b.log.Warn("Branch of this node does not grow in the ledger, so a restore of the ledger may go unnoticed. The node tries again every 5 s.", "error", err)
		}
		failed = err != nil
	}
}

// Grow raises the number in the ledger. A ledger that does not know the branch any more was restored. The node then
// begins another branch, and the marks in Redis show to the indexes that the ledger lost commits.
func (b *Branch) Grow(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, growTimeout)
	defer cancel()
	b.mu.Lock()
	name, next := b.name, b.number+1
	b.mu.Unlock()
	// The lock is not held during the call, so that Mark never waits for the ledger. Only Begin and Run call Grow, one
	// after the other.
	err := b.ledger.GrowBranch(ctx, name, next)
	if errors.Is(err, ledger.ErrForked) {
		b.log.Error("Ledger was restored from a copy: the ledger does not have the last branch number of this node. The node now compares inboxes and queues with the ledger.",
			"branch", name, "number", next-1)
		b.ledger.ForgetRows()
		b.fork()
		return b.Grow(ctx) // begin the new branch
	}
	if err == nil {
		b.mu.Lock()
		b.number = next
		b.mu.Unlock()
	}
	return err
}

func (b *Branch) fork() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.name, b.number = rand.Text(), 0
	b.forks++
}

// Mark returns what an index stores about the ledger: <number>-<name> of the branch; "" while the ledger does not
// have the branch.
func (b *Branch) Mark() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.number == 0 {
		return ""
	}
	return strconv.FormatInt(b.number, 10) + "-" + b.name
}

// Incarnation grows whenever the ledger may be another one than before. It reads counters only and does not call the
// ledger.
func (b *Branch) Incarnation() int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.ledger.Incarnation() + b.forks
}

// HasMark asks the ledger whether it knows a mark of any node. A malformed mark counts as unknown.
func (b *Branch) HasMark(ctx context.Context, mark string) (bool, error) {
	text, name, _ := strings.Cut(mark, "-")
	number, err := strconv.ParseInt(text, 10, 64)
	if err != nil || name == "" {
		return false, nil //nolint:nilerr // a malformed mark is an unknown one
	}
	return b.ledger.HasBranch(ctx, name, number)
}
