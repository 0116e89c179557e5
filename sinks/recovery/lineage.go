package recovery

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Redis must not know more than the ledger. It does where the ledger was restored from a backup, or where a standby took over that lagged behind.
// Two things tell: the mark, which the ledger learns before Redis and which no later commit brings back, and what the contents remember of the
// last things that they were given (Contents.Ahead). The mark is seconds old at most; the contents know of each delivery.

// Lineage is how a keeper tells the ledger from an older copy of it. internal/lineage has it.
type Lineage interface {
	// Mark is what Redis is to remember of the ledger; "" = nothing yet.
	Mark() string
	// HasMark asks the ledger whether it knows the mark.
	HasMark(ctx context.Context, mark string) (bool, error)
	// Incarnation grows whenever the ledger may be another one than before. It asks nobody.
	Incarnation() int64
}

// Restore is what a keeper tells of a ledger that was restored.
type Restore struct {
	Sink     string
	Epoch    string // that Redis had
	Cause    string // what Redis remembers and the ledger does not know
	Withheld int    // items that wait for an operator
	Dropped  int    // items that the ledger does not know
}

// markField of the epoch's hash is the mark.
const markField = "mark"

// incarnation is that of the ledger; without a lineage it never changes.
func (k *Keeper) incarnation() int64 {
	if k.o.Lineage == nil {
		return 0
	}
	return k.o.Lineage.Incarnation()
}

// ahead says what Redis remembers and the ledger does not know; "" = nothing.
func (k *Keeper) ahead(ctx context.Context, found standing) (cause string, err error) {
	if k.o.Lineage == nil || found.epoch == NoEpoch {
		return "", nil
	}
	if found.mark != "" {
		known, err := k.o.Lineage.HasMark(ctx, found.mark)
		if err != nil {
			return "", fmt.Errorf("ledger: %w", err)
		}
		if !known {
			return "the ledger does not know the mark " + found.mark, nil
		}
	}
	return k.o.Contents.Ahead(ctx, found.epoch)
}

// errRestored says that the ledger was restored.
var errRestored = errors.New("the index knows more than the ledger, which was restored from a copy")

// compare asks whether Redis knows more than a ledger that may be another one by now. Then the generation ends, and the error is ErrLost.
func (k *Keeper) compare(ctx context.Context, g *Generation) error {
	incarnation := k.incarnation()
	if g.compared.Load() == incarnation {
		return nil
	}
	found, err := k.ask(ctx)
	if err != nil {
		return fmt.Errorf("redis: %w", err)
	}
	cause, err := k.ahead(ctx, found)
	if err != nil {
		return err
	}
	if cause != "" {
		k.Lose(g, fmt.Errorf("%w: %s", errRestored, cause))
		return ErrLost
	}
	g.compared.Store(incarnation)
	return nil
}

// Compared returns when Redis was compared with the ledger that this node is connected to now. Who puts something into Redis that a restored ledger
// may have given out has to ask: later the comparison would find nothing. The error is ErrLost where the generation has ended.
func (k *Keeper) Compared(ctx context.Context, g *Generation) error {
	for !g.isWrittenBack && g.compared.Load() != k.incarnation() {
		if !k.Is(g) {
			return ErrLost
		}
		k.CheckNow()
		pause := time.NewTimer(retryPause)
		select {
		case <-pause.C:
		case <-ctx.Done():
			pause.Stop()
			return ctx.Err()
		}
	}
	return nil
}

// remember puts the mark of this node into Redis, unless the ledger may have changed since Redis was compared with it.
func (k *Keeper) remember(ctx context.Context, g *Generation, found standing) error {
	if k.o.Lineage == nil {
		return nil
	}
	mark := k.o.Lineage.Mark()
	if mark == "" || mark == found.mark || g.compared.Load() != k.incarnation() {
		return nil
	}
	return k.o.Client.HSet(ctx, k.o.EpochKey, markField, mark).Err()
}

// keepAll has the contents save what ends with the epoch of a ledger that was restored, and tells of the restore. When it is done, Redis forgets
// the mark: a node that takes up the rebuild must not do it again with what is left in Redis by then.
func (k *Keeper) keepAll(ctx context.Context, found standing, cause string) error {
	withheld, dropped, err := k.o.Contents.Withhold(ctx, found.epoch)
	if err != nil {
		return err
	}
	k.log.Error("The ledger was restored from a copy. Clients are answered reset. Items that have ended since are withheld until somebody decides.",
		"cause", cause, "epoch", found.epoch, "withheld", withheld, "dropped", dropped)
	if k.o.OnRestore != nil {
		if err := k.o.OnRestore(ctx, Restore{k.o.Sink, found.epoch, cause, withheld, dropped}); err != nil {
			return fmt.Errorf("ledger: %w", err)
		}
	}
	return k.o.Client.HDel(ctx, k.o.EpochKey, markField).Err()
}
