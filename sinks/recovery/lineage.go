package recovery

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Redis must not know more than the ledger. Redis knows more after the ledger was restored from a backup, or after a
// standby that lagged behind has taken over. Two things show the difference. The first is the mark: the ledger stores
// the mark before Redis does. A ledger that has lost the mark never makes the same mark again. The second are the
// latest entries that the contents remember (Contents.Ahead). The mark may be some seconds old; the contents know of
// each delivery.

// Lineage distinguishes the ledger from an older copy of it. internal/lineage implements it.
type Lineage interface {
	// Mark returns the mark that Redis must remember; "" means none yet.
	Mark() string
	// HasMark asks the ledger whether it knows the mark.
	HasMark(ctx context.Context, mark string) (bool, error)
	// Incarnation grows whenever the ledger may have been replaced. Incarnation asks nobody.
	Incarnation() int64
}

// Restore describes a ledger that was restored, as a keeper has found it.
type Restore struct {
	Sink     string
	Epoch    string // the epoch of Redis
	Cause    string // what Redis remembers and the ledger does not know
	Withheld int    // items that wait for an operator
	Dropped  int    // items that the ledger does not know
}

// markField is the field of the epoch's hash that holds the mark.
const markField = "mark"

// incarnation returns the ledger's incarnation. Without a lineage it never changes.
func (k *Keeper) incarnation() int64 {
	if k.o.Lineage == nil {
		return 0
	}
	return k.o.Lineage.Incarnation()
}

// ahead returns what Redis remembers and the ledger does not know, or "".
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

// compare checks whether Redis knows more than the ledger, if the ledger may have been replaced since the last
// comparison. If so, it ends the generation and returns ErrLost.
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

// Compared waits until Redis was compared with the ledger that this node is connected to now. A restored ledger may
// give out a number, such as the number of a delivery, a second time. Code that writes such a number to Redis must call
// Compared first, because the write would hide the difference. Compared returns ErrLost if the generation has ended.
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

// remember writes this node's mark to Redis, unless the ledger may have been replaced since the last comparison.
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

// keepAll calls Contents.Withhold for a restored ledger, and reports the restore. Afterwards keepAll removes the mark
// from Redis. So a node that continues the rebuild does not withhold again, when Redis has only the rest of the
// contents.
func (k *Keeper) keepAll(ctx context.Context, found standing, cause string) error {
	withheld, dropped, err := k.o.Contents.Withhold(ctx, found.epoch)
	if err != nil {
		return err
	}
	k.log.Error("The ledger was restored from a copy. Clients get a reset. Items that have ended since the copy are withheld until an operator decides.",
		"cause", cause, "epoch", found.epoch, "withheld", withheld, "dropped", dropped)
	if k.o.OnRestore != nil {
		if err := k.o.OnRestore(ctx, Restore{k.o.Sink, found.epoch, cause, withheld, dropped}); err != nil {
			return fmt.Errorf("ledger: %w", err)
		}
	}
	return k.o.Client.HDel(ctx, k.o.EpochKey, markField).Err()
}
