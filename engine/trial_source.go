package engine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"tallyman/rules/probe"
	"tallyman/rules/row"
	"tallyman/scanners"
)

// trialClock shows the due time of the run.
type trialClock struct{ now time.Time }

func (c *trialClock) Now() time.Time                     { return c.now }
func (c *trialClock) Real(d time.Duration) time.Duration { return d }

// tap is a source that keeps the rows which it hands out.
type tap struct {
	scanners.Source
	rows []*row.Row
	kept kept
}

// mostTrialRows is how many rows a run of a trial keeps: it holds them all, whereas a firing lets them pass.
const mostTrialRows = 100_000

var errNoSource = errors.New("engine: a trial without a source")

func (t *tap) Prepare(ctx context.Context, stmt *probe.Statement) (scanners.Prepared, error) {
	if t.Source == nil {
		return nil, errNoSource
	}
	p, err := t.Source.Prepare(ctx, stmt)
	if err != nil {
		return nil, err
	}
	return tapped{p, t}, nil
}

type tapped struct {
	scanners.Prepared
	tap *tap
}

func (p tapped) Scan(ctx context.Context, req scanners.Request, visit func(*row.Row) error) (scanners.Result, error) {
	return p.Prepared.Scan(ctx, req, func(r *row.Row) error {
		if len(p.tap.rows) == mostTrialRows {
			return &runError{"too_many_rows", fmt.Sprintf("more than %d rows cannot be looked at together: narrow the probe", mostTrialRows)}
		}
		if err := p.tap.kept.add(r.Size()); err != nil {
			return err
		}
		p.tap.rows = append(p.tap.rows, r.Clone())
		return visit(r)
	})
}
