package enginetest

import (
	"context"
	"sync"
	"time"

	"tallyman/rules/probe"
	"tallyman/rules/row"
	"tallyman/scanners"
)

// Source answers every probe with the rows that a function gives.
type Source struct {
	Columns []row.Column
	// Rows answers a scan. A test that needs a slow probe waits in Rows. The wait ends early when ctx ends.
	Rows func(ctx context.Context, req scanners.Request) ([][]row.Value, error)

	mu       sync.Mutex
	broken   error
	prepares int
}

// Break makes Prepare fail with the error. A nil error makes it work again.
func (s *Source) Break(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.broken = err
}

// Prepares returns how often Prepare was called.
func (s *Source) Prepares() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.prepares
}

// Prepare returns a probe that answers from the source.
func (s *Source) Prepare(context.Context, *probe.Statement) (scanners.PreparedProbe, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.prepares++
	if s.broken != nil {
		return nil, s.broken
	}
	return prepared{s}, nil
}

// Ping does nothing.
func (s *Source) Ping(context.Context) error { return nil }

// Close does nothing.
func (s *Source) Close() error { return nil }

type prepared struct{ source *Source }

func (p prepared) Columns() []row.Column { return p.source.Columns }

func (p prepared) Scan(ctx context.Context, req scanners.Request, visit func(*row.Row) error) (scanners.Result, error) {
	rows, err := p.source.Rows(ctx, req)
	if err != nil {
		return scanners.Result{}, err
	}
	shared := row.New(p.source.Columns)
	for i, values := range rows {
		if req.MaxRows > 0 && i == req.MaxRows {
			return scanners.Result{Rows: i, More: true}, nil
		}
		copy(shared.Values, values)
		if err := visit(shared); err != nil {
			return scanners.Result{Rows: i}, err
		}
	}
	return scanners.Result{Rows: len(rows)}, nil
}

// Explainer is a Source that explains the plan of a statement.
type Explainer struct {
	*Source
	Plan func(req map[string]any) (scanners.Plan, error)
}

// Explain returns the result of Plan.
func (e Explainer) Explain(_ context.Context, _ *probe.Statement, args map[string]any) (scanners.Plan, error) {
	return e.Plan(args)
}

// Sleep waits for d or until ctx ends, like a slow probe.
func Sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
