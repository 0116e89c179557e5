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
	growEvery   = 5 * time.Second // the last commits before a restore that no mark stands behind
	growTimeout = 5 * time.Second // for one answer of the ledger
)

// Branch is the branch of this node. It is safe for concurrent use.
type Branch struct {
	ledger ledger.BranchKeeper
	log    *slog.Logger

	mu     sync.Mutex
	name   string
	number int64 // that the ledger has; 0 = it does not have the branch yet
	forks  int64 // how often the ledger did not know the branch any more
}

// Begin begins the branch of a node in its ledger.
func Begin(ctx context.Context, l ledger.BranchKeeper, log *slog.Logger) (*Branch, error) {
	b := &Branch{ledger: l, log: log, name: rand.Text()}
	if err := b.Grow(ctx); err != nil {
		return nil, fmt.Errorf("begin a branch in the ledger: %w", err)
	}
	return b, nil
}

// Run grows the branch until the context ends. A call that fails is repeated.
func (b *Branch) Run(ctx context.Context) {
	tick := time.NewTicker(growEvery)
	defer tick.Stop()
	failed := false // so that the log says it once
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		err := b.Grow(ctx)
		if err != nil && ctx.Err() == nil && !failed {
			b.log.Warn("The branch of this node does not grow, so a restore of the ledger may go unnoticed. The node tries again every 5 s.", "error", err)
		}
		failed = err != nil
	}
}

// Grow raises the number in the ledger. Where the ledger does not know the branch any more, it was restored: the node begins another branch.
func (b *Branch) Grow(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, growTimeout)
	defer cancel()
	b.mu.Lock()
	name, next := b.name, b.number+1
	b.mu.Unlock()
	err := b.ledger.GrowBranch(ctx, name, next)
	if errors.Is(err, ledger.ErrForked) {
		b.log.Error("The ledger was restored from a copy: it does not know what this node has written there. Inboxes and queues are compared with the ledger.",
			"branch", name, "number", next-1)
		b.ledger.ForgetRows()
		b.fork()
		return b.Grow(ctx) // begins the other one
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

// Mark is what an index remembers of the ledger: <number>-<name> of the branch; "" while the ledger does not have the branch.
func (b *Branch) Mark() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.number == 0 {
		return ""
	}
	return strconv.FormatInt(b.number, 10) + "-" + b.name
}

// Incarnation grows whenever the ledger may be another one than before. It asks nobody.
func (b *Branch) Incarnation() int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.ledger.Incarnation() + b.forks
}

// HasMark asks the ledger whether it knows a mark, of whatever node. A text that is no mark is an unknown one.
func (b *Branch) HasMark(ctx context.Context, mark string) (bool, error) {
	text, name, _ := strings.Cut(mark, "-")
	number, err := strconv.ParseInt(text, 10, 64)
	if err != nil || name == "" {
		return false, nil //nolint:nilerr // a text that is no mark is an unknown one
	}
	return b.ledger.HasBranch(ctx, name, number)
}
