package app

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"tallyman/engine"
	"tallyman/internal/ledger"
	"tallyman/internal/wire"
)

// countEvery is how old the counts may get before they are counted again: every floating window asks for them.
const countEvery = 10 * time.Second

// ruleCounts remembers how the rules are, scope by scope.
type ruleCounts struct {
	read func(context.Context) ([]engine.RuleStatus, error)
	log  *slog.Logger

	mu     sync.Mutex
	at     time.Time // of the last reading
	scopes map[string]wire.RuleCount
	units  []engine.RuleStatus
}

// of counts the rules whose scope is the warehouse or that have none. While the ledger does not answer it is what it was.
func (c *ruleCounts) of(ctx context.Context, warehouse string) wire.RuleCount {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.freshen(ctx)
	own, all := c.scopes[warehouse], c.scopes[""]
	return wire.RuleCount{OK: own.OK + all.OK, Failing: own.Failing + all.Failing}
}

// freshen counts anew where it is time.
func (c *ruleCounts) freshen(ctx context.Context) {
	if time.Since(c.at) > countEvery {
		c.refresh(ctx)
	}
}

// refresh counts anew. Others wait for it, for as long as a ping may take.
func (c *ruleCounts) refresh(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), pingTimeout)
	defer cancel()
	units, err := c.read(ctx)
	c.at = time.Now() // also after an error, so that not every caller waits for a ledger that is away
	if err != nil {
		c.log.Warn("the rules could not be counted", "error", err)
		return
	}
	scopes := map[string]wire.RuleCount{}
	for i := range units {
		u := &units[i]
		n := scopes[u.Rule.Scope]
		switch {
		case !u.Enabled:
		case !u.Verified, u.LastRun != nil && u.LastRun.Outcome == ledger.OutcomeFailed:
			n.Failing++
		default:
			n.OK++
		}
		scopes[u.Rule.Scope] = n
	}
	c.scopes, c.units = scopes, units
}
