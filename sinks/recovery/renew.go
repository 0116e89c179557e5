package recovery

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"tallyman/internal/delivery"
)

// renew begins the next epoch and has it written back. The ledger lets one node do it.
func (k *Keeper) renew(ctx context.Context, prev string, next *Generation, why string) error {
	began := time.Now()
	state := delivery.IndexState{Epoch: next.Epoch, RunIDs: next.runIDs, Building: true, Node: k.o.Node}
	err := k.o.Ledger.BeginEpoch(ctx, k.o.Sink, prev, state, k.o.Node, buildLease)
	if errors.Is(err, delivery.ErrFenced) {
		return errBuilding
	}
	if err != nil {
		return fmt.Errorf("ledger: %w", err)
	}
	level := slog.LevelWarn
	if prev == "" {
		level = slog.LevelInfo // there never was one
	}
	k.log.Log(ctx, level, "the index is written back", "epoch", next.Epoch, "cause", why)

	building, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	held := make(chan struct{})
	go func() {
		defer close(held)
		k.hold(building, stop, state)
	}()
	count, err := k.rebuild(building, next.Epoch)
	stop(nil)
	<-held
	if err != nil {
		return fmt.Errorf("rebuild: %w", err)
	}
	if err := k.o.Ledger.FinishEpoch(ctx, k.o.Sink, next.Epoch); err != nil {
		return fmt.Errorf("ledger: %w", err)
	}
	k.log.Info("the index is back", "epoch", next.Epoch, "count", count, "took", time.Since(began))
	if k.o.Channel == "" {
		return nil
	}
	// Other nodes would notice within a second anyway.
	return k.o.Client.Publish(ctx, k.o.Channel, "").Err()
}

// hold keeps the right to build until the context ends, and ends it when the right was lost.
func (k *Keeper) hold(ctx context.Context, stop context.CancelCauseFunc, state delivery.IndexState) {
	tick := time.NewTicker(buildLease / 3)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		if err := k.o.Ledger.BeginEpoch(ctx, k.o.Sink, state.Epoch, state, k.o.Node, buildLease); err != nil {
			stop(fmt.Errorf("the right to rebuild: %w", err))
			return
		}
	}
}

// rebuild has the contents written back and then names the epoch. The number of a newer epoch that was met is remembered,
// so that the next one is above it.
func (k *Keeper) rebuild(ctx context.Context, epoch string) (int, error) {
	count, err := k.o.Contents.Rebuild(ctx, epoch)
	if newer, ok := errors.AsType[*EpochError](err); ok {
		k.newest.Store(max(k.newest.Load(), EpochNumber(newer.Found)))
	}
	if err != nil {
		return count, err
	}
	return count, k.o.Client.HSet(ctx, k.o.EpochKey, "epoch", epoch).Err()
}
