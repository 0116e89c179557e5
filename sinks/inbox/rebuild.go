package inbox

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"time"

	"golang.org/x/sync/errgroup"

	"tallyman/sinks"
)

// renew begins the next epoch and writes back what the ledger has recorded. The ledger lets one node do it.
func (in *Inbox) renew(ctx context.Context, prev string, next *generation, highest map[string]int64, why string) error {
	began := time.Now()
	state := sinks.IndexState{Epoch: next.epoch, RunIDs: next.runIDs, Building: true, Node: in.o.Node}
	err := in.o.Ledger.BeginEpoch(ctx, in.o.Sink, prev, state, in.o.Node, buildLease)
	if errors.Is(err, sinks.ErrFenced) {
		return errBuilding
	}
	if err != nil {
		return fmt.Errorf("ledger: %w", err)
	}
	level := slog.LevelWarn
	if prev == "" {
		level = slog.LevelInfo // there never was one
	}
	in.log.Log(ctx, level, "the index is written back", "epoch", next.epoch, "cause", why, "warehouses", len(highest))

	building, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	held := make(chan struct{})
	go func() {
		defer close(held)
		in.hold(building, stop, state)
	}()
	count, err := in.rebuild(building, next.epoch, highest)
	stop(nil)
	<-held
	if err != nil {
		return fmt.Errorf("rebuild: %w", err)
	}
	if err := in.o.Ledger.FinishEpoch(ctx, in.o.Sink, next.epoch); err != nil {
		return fmt.Errorf("ledger: %w", err)
	}
	in.log.Info("the index is back", "epoch", next.epoch, "notices", count, "took", time.Since(began))
	// Other nodes would notice within a second anyway.
	return in.o.Client.Publish(ctx, in.keys.hints(), "").Err()
}

// hold keeps the right to build until the context ends, and ends it when the right was lost.
func (in *Inbox) hold(ctx context.Context, stop context.CancelCauseFunc, state sinks.IndexState) {
	tick := time.NewTicker(buildLease / 3)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		if err := in.o.Ledger.BeginEpoch(ctx, in.o.Sink, state.Epoch, state, in.o.Node, buildLease); err != nil {
			stop(fmt.Errorf("the right to rebuild: %w", err))
			return
		}
	}
}

// rebuild writes all warehouses back and then names the epoch.
func (in *Inbox) rebuild(ctx context.Context, epoch string, highest map[string]int64) (int, error) {
	total := 0
	for warehouse, score := range highest {
		if err := in.beginWarehouse(ctx, epoch, warehouse, score); err != nil {
			return total, in.outdone(err)
		}
		n, err := in.writeBack(ctx, epoch, warehouse)
		total += n
		if err != nil {
			return total, in.outdone(err)
		}
	}
	return total, in.o.Client.HSet(ctx, in.keys.epoch(), "epoch", epoch).Err()
}

// outdone remembers the number of a newer epoch that was met, so that the next one is above it.
func (in *Inbox) outdone(err error) error {
	if newer, ok := errors.AsType[*epochError](err); ok {
		in.newest.Store(max(in.newest.Load(), epochNumber(newer.found)))
	}
	return err
}

// beginWarehouse removes what an older epoch left in a warehouse and sets its clock above the highest score.
func (in *Inbox) beginWarehouse(ctx context.Context, epoch, warehouse string, highest int64) error {
	for {
		reply, err := in.run(ctx, in.scripts.begin, in.keys.all(warehouse, 0), epoch, in.now(), strconv.FormatInt(highest, 10), maxBatch)
		if err != nil || len(reply) == 0 {
			return err
		}
		subscribers, err := texts(reply)
		if err != nil {
			return err
		}
		keys := []string{in.keys.clock(warehouse), in.keys.inboxes(warehouse)}
		args := []any{epoch}
		for _, s := range subscribers {
			keys = append(keys, in.keys.inbox(warehouse, s))
			args = append(args, s)
		}
		if _, err := in.runCount(ctx, in.scripts.wipe, keys, args...); err != nil {
			return err
		}
	}
}

// writeBack puts the recorded deliveries of a warehouse into Redis with the scores they had. The ledger is read ahead while
// Redis is written.
func (in *Inbox) writeBack(ctx context.Context, epoch, warehouse string) (int, error) {
	pages := make(chan []entry, 2)
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error {
		defer close(pages)
		return in.readBack(ctx, warehouse, pages)
	})
	count := 0
	group.Go(func() error {
		for batch := range pages {
			for _, chunk := range chunks(batch) {
				if _, err := in.put(ctx, warehouse, in.newFanoutCall(epoch, warehouse, "", chunk)); err != nil {
					return err
				}
				count += len(chunk)
			}
		}
		return nil
	})
	err := group.Wait()
	return count, err
}

func (in *Inbox) readBack(ctx context.Context, warehouse string, pages chan<- []entry) error {
	lane := sinks.Lane{Sink: in.o.Sink, Warehouse: warehouse}
	after := int64(0)
	for {
		delivered, err := in.o.Ledger.Delivered(ctx, lane, after, 2*maxBatch)
		if err != nil {
			return fmt.Errorf("ledger: %w", err)
		}
		if len(delivered) == 0 {
			return nil
		}
		batch := make([]entry, 0, len(delivered))
		for _, d := range delivered {
			e, err := newEntry(d.Notice, d.Recipients, d.Score)
			if err != nil {
				return err
			}
			batch = append(batch, e)
		}
		after = delivered[len(delivered)-1].Score
		select {
		case pages <- batch:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}
