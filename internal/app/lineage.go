package app

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"tallyman/internal/ledger"
	"tallyman/internal/wire"
	"tallyman/sinks/recovery"
)

// restoreShown is how long the node counts as not well after a restore of the ledger. People must look at what clients
// have lost and what is sent again.
const restoreShown = 24 * time.Hour

// readRestored reads from the ledger when a node noticed that the ledger was restored.
func (a *App) readRestored(ctx context.Context) error {
	numbers, err := a.ledger.Numbers(ctx)
	if err != nil {
		return fmt.Errorf("read when the ledger was restored: %w", err)
	}
	a.restored.Store(numbers["restored"])
	return nil
}

// tellRestore records in the ledger that an inbox or a queue has noticed a restore.
func (a *App) tellRestore(ctx context.Context, r recovery.Restore) error {
	found := &ledger.Restore{Sink: r.Sink, Epoch: r.Epoch, Cause: r.Cause, Withheld: r.Withheld, Dropped: r.Dropped}
	return a.ledger.AddRestore(ctx, nodeAuthor(a.opts.Node, ledger.ViaNode), found)
}

// withheld counts the items that each queue withholds, together with its test twin.
func (a *App) withheld(ctx context.Context) (map[string]int64, error) {
	found, err := a.ledger.CountWithheld(ctx)
	if err != nil {
		return nil, err
	}
	counts := map[string]int64{}
	for name := range a.index.queues {
		counts[name] = found[name] + found[name+ledger.TestTwin]
	}
	return counts, nil
}

// withheldHealth reports each queue that withholds items. While the ledger does not answer it reports none: the
// ledger's own health says that it is out of reach.
func (a *App) withheldHealth(ctx context.Context) (list []wire.Health) {
	ctx, cancel := context.WithTimeout(ctx, pingTimeout)
	defer cancel()
	counts, err := a.ledger.CountWithheld(ctx)
	if err != nil {
		a.log.Warn("Withheld items were not counted.", "error", err)
	}
	for _, name := range slices.Sorted(maps.Keys(counts)) {
		queue, test := strings.CutSuffix(name, ledger.TestTwin)
		list = append(list, wire.Health{Part: "restore", Name: name, Error: withheldText(queue, test, counts[name])})
	}
	return list
}

func withheldText(queue string, test bool, count int64) string {
	flag := ""
	if test {
		flag = " --test"
	}
	return fmt.Sprintf("queue %s withholds items since the ledger was restored: %d; `tallyman queue list %s%s --state withheld` shows the items; remove or requeue each item",
		queue, count, queue, flag)
}

// restoreHealth reports a restore of the ledger, until restoreShown has passed.
func (a *App) restoreHealth() (h wire.Health, shown bool) {
	micros := a.restored.Load()
	at := time.UnixMicro(micros).UTC()
	if micros == 0 || a.opts.Clock.Now().Sub(at) > restoreShown {
		return h, false
	}
	return wire.Health{
		Part: "restore", Since: &at,
		Error: "the ledger was restored from a copy: what was committed after the copy is lost; `tallyman audit list --action ledger.restored` lists what nodes noticed; docs/how-to/back-up-and-restore.md says what to do",
	}, true
}
