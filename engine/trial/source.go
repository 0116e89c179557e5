package trial

import (
	"context"
	"errors"
	"fmt"

	"tallyman/engine/judge"
	"tallyman/rules/probe"
	"tallyman/rules/row"
	"tallyman/scanners"
)

// tap is a source that keeps the rows which it hands out.
type tap struct {
	source scanners.Source // nil where there is none
	rows   []*row.Row
	budget judge.Budget
}

// mostRows is how many rows a run of a trial keeps: it holds them all, whereas a firing lets them pass.
const mostRows = 100_000

var errNoSource = errors.New("engine: a trial without a source")

func (t *tap) Prepare(ctx context.Context, stmt *probe.Statement) (scanners.PreparedProbe, error) {
	if t.source == nil {
		return nil, errNoSource
	}
	p, err := t.source.Prepare(ctx, stmt)
	if err != nil {
		return nil, err
	}
	return tapped{p, t}, nil
}

// tapped is a probe of such a source.
type tapped struct {
	scanners.PreparedProbe
	tap *tap
}

func (p tapped) Scan(ctx context.Context, req scanners.Request, visit func(*row.Row) error) (scanners.Result, error) {
	return p.PreparedProbe.Scan(ctx, req, func(r *row.Row) error {
		if len(p.tap.rows) == mostRows {
			return &judge.Error{Code: "too_many_rows", Message: fmt.Sprintf("more than %d rows cannot be looked at together: narrow the probe", mostRows)}
		}
		if err := p.tap.budget.Spend(r.Size()); err != nil {
			return err
		}
		p.tap.rows = append(p.tap.rows, r.Clone())
		return visit(r)
	})
}
