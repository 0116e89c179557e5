package inbox

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"tallyman/sinks/inbox/page"
	"tallyman/sinks/recovery"
)

// Version returns what Poll would give as the page's version, for one small read of Redis that concurrent callers
// share. Its errors are Poll's.
func (in *Inbox) Version(ctx context.Context, q page.Query) (string, error) {
	r, err := newReader(q)
	if err != nil {
		return "", err
	}
	var v string
	err = in.keeper.Serve(ctx, func(ctx context.Context, g *recovery.Generation) error {
		c, err := in.clockOf(ctx, g, r)
		if err == nil {
			v = version(g.Epoch, c.clock, c.sweeps, r.hash)
		}
		return err
	})
	return v, err
}

// version names a state of a warehouse for one query: whatever can change the answer changes it.
func version(epoch string, clock int64, sweeps string, hash page.Hash) string {
	return epoch + "." + strconv.FormatInt(clock, 36) + "." + sweeps + "." + hash.String()
}

// splitVersion returns the epoch and the clock of a version.
func splitVersion(v string) (epoch string, clock int64, err error) {
	parts := strings.Split(v, ".")
	if len(parts) != 4 {
		return "", 0, fmt.Errorf("inbox: %q is no version", v)
	}
	clock, err = strconv.ParseInt(parts[1], 36, 64)
	return parts[0], clock, err
}

// clockOf reads the clock for a reader, and notices when something was lost.
func (in *Inbox) clockOf(ctx context.Context, g *recovery.Generation, r *reader) (clockState, error) {
	c, err := in.clocks.read(ctx, r.Warehouse)
	if err != nil {
		return c, err
	}
	return in.judgeClock(g, r.Warehouse, c)
}

// judgeClock tells the clock of a warehouse that never had a notice from one that was lost.
func (in *Inbox) judgeClock(g *recovery.Generation, warehouse string, c clockState) (clockState, error) {
	switch {
	case c.epoch == g.Epoch:
		return c, nil
	case in.virgin(g, warehouse, c.epoch):
		return clockState{epoch: g.Epoch, sweeps: "0"}, nil
	}
	return c, in.lost(g, warehouse, &recovery.EpochError{Found: c.epoch})
}
