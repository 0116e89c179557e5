package inbox

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"golang.org/x/sync/errgroup"

	"tallyman/internal/delivery"
	"tallyman/sinks/recovery"
)

// rebuilder tells the keeper whether Redis still has the whole index, and writes the index back from the ledger.
type rebuilder struct {
	*index

	writer writer
	marker marker
}

// Missing implements recovery.Contents: each warehouse must be in the epoch, with a clock at or above the highest
// recorded score.
func (in rebuilder) Missing(ctx context.Context, epoch string) (string, error) {
	highest, err := in.highest(ctx)
	if err != nil {
		return "", err
	}
	warehouses := slices.Collect(maps.Keys(highest))
	clocks, err := in.askClocks(ctx, warehouses)
	if err != nil {
		return "", fmt.Errorf("redis: %w", err)
	}
	for i, warehouse := range warehouses {
		switch c := clocks[i]; {
		case c.epoch != epoch:
			return "warehouse " + warehouse + " is at epoch " + c.epoch, nil
		case c.clock < highest[warehouse]:
			return "the clock of warehouse " + warehouse + " is below the highest score in the ledger", nil
		}
	}
	in.knowOnly(highest)
	return "", nil
}

// Rebuild implements recovery.Contents: it writes back all warehouses.
func (in rebuilder) Rebuild(ctx context.Context, epoch string) (int, error) {
	highest, err := in.highest(ctx)
	if err != nil {
		return 0, err
	}
	total := 0
	for warehouse, score := range highest {
		if err := in.beginWarehouse(ctx, epoch, warehouse, score); err != nil {
			return total, err
		}
		n, err := in.writeBack(ctx, epoch, warehouse)
		total += n
		if err != nil {
			return total, err
		}
	}
	in.knowOnly(highest)
	return total, in.marker.writeBackMarks(ctx, recovery.WrittenBack(epoch))
}

// highest asks the ledger for the highest recorded score of each warehouse.
func (in *index) highest(ctx context.Context) (map[string]int64, error) {
	highest, err := in.o.Ledger.HighestScores(ctx, in.o.Sink)
	if err != nil {
		return nil, fmt.Errorf("ledger: %w", err)
	}
	return highest, nil
}

// beginWarehouse claims a warehouse for the epoch, removes everything of an older epoch, and sets the clock above the
// highest score.
func (in *index) beginWarehouse(ctx context.Context, epoch, warehouse string, highest int64) error {
	for {
		reply, err := in.run(ctx, in.scripts.begin, in.keys.all(warehouse, 0), epoch, in.now(), strconv.FormatInt(highest, 10), maxWiped)
		if err != nil || len(reply) == 0 {
			return err
		}
		names, err := texts(reply)
		if err != nil {
			return err
		}
		err = in.wipe(ctx, epoch, warehouse, names)
		// begin.lua finds out what the refusal means
		if _, refused := errors.AsType[*recovery.EpochError](err); err != nil && !refused {
			return err
		}
	}
}

// wipe removes the keys that begin.lua has named.
func (in *index) wipe(ctx context.Context, epoch, warehouse string, names []string) error {
	inboxes, err := strconv.Atoi(names[0])
	if err != nil || len(names) < 2 || inboxes > len(names)-2 {
		return fmt.Errorf("inbox: begin.lua answered %q", names)
	}
	users, err := strconv.Atoi(names[1])
	if err != nil || inboxes+users > len(names)-2 {
		return fmt.Errorf("inbox: begin.lua answered %q", names)
	}
	keys := []string{in.keys.clock(warehouse), in.keys.inboxes(warehouse), in.keys.readers(warehouse), in.keys.wide(warehouse)}
	for _, s := range names[2 : 2+inboxes] {
		keys = append(keys, in.keys.inbox(warehouse, s), in.keys.log(warehouse, s))
	}
	for _, user := range names[2+inboxes : 2+inboxes+users] {
		keys = append(keys, in.keys.marks(warehouse, user), in.keys.upto(warehouse, user))
	}
	for _, id := range names[2+inboxes+users:] {
		keys = append(keys, in.keys.to(warehouse, id))
	}
	_, err = in.runCount(ctx, in.scripts.wipe, keys, appendTexts([]any{epoch}, names)...)
	return err
}

// writeBack puts the recorded deliveries of a warehouse into Redis, with their old scores. The next pages are read from
// the ledger while Redis takes the page before.
func (in rebuilder) writeBack(ctx context.Context, epoch, warehouse string) (int, error) {
	pages := make(chan []entry, 2)
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error {
		defer close(pages)
		return in.readBack(ctx, warehouse, pages)
	})
	count := 0
	group.Go(func() error {
		for batch := range pages {
			for _, chunk := range in.writer.chunks(batch) {
				if _, err := in.writer.put(ctx, warehouse, in.writer.newFanoutCall(epoch, warehouse, "", chunk)); err != nil {
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

func (in rebuilder) readBack(ctx context.Context, warehouse string, pages chan<- []entry) error {
	lane := delivery.Lane{Sink: in.o.Sink, Warehouse: warehouse}
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
			e, err := in.writer.newEntry(&d.Delivery, d.Score)
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
