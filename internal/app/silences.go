package app

import (
	"context"
	"fmt"
	"time"

	"tallyman/internal/api/operate"
	"tallyman/internal/notice"
	"tallyman/internal/silence"
)

// openSilences reads the silences, and again whenever one is added or ended anywhere.
func (a *App) openSilences(ctx context.Context) error {
	return a.follow.add(ctx, "silences", a.readSilences)
}

// readSilences makes those the ledger has the ones that count on this node.
func (a *App) readSilences(ctx context.Context) error {
	err := a.silences.Refresh(func() ([]silence.Silence, error) { return a.ledger.Silences(ctx) })
	if err != nil {
		return fmt.Errorf("read the silences: %w", err)
	}
	return nil
}

// silenced names the silence that holds back the deliveries of a notice, and for how much longer it does on the machine's clock. It is the one
// that lasts longest: if somebody ends it, the next is asked for.
func (a *App) silenced(n *notice.Notice) (id string, left time.Duration) {
	now := a.opts.Clock.Now()
	holding := a.silences.Holding(now, &silence.Subject{
		Rule: n.Rule, Type: n.Type, Warehouse: n.Warehouse, Scope: n.Scope, Labels: n.Labels,
	})
	if len(holding) == 0 {
		return "", 0
	}
	return holding[0].ID, a.opts.Clock.Real(holding[0].Until.Sub(now))
}

func (a *App) servedSilences() operate.Silences {
	return operate.Silences{Ledger: a.ledger, Now: a.opts.Clock.Now, Changed: a.readSilences}
}
