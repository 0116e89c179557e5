package ruletest

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"tallyman/rules/probe"
	"tallyman/rules/row"
	"tallyman/scanners"
)

// script is the source of a trial. Each scan answers as the current step says.
type script struct {
	columns   []row.Column
	watermark []int             // The positions of the watermark's columns.
	marks     []string          // The names of the watermark's parameters.
	sessions  scanners.Sessions // Nil where no step has tables and there is no real engine.

	step   stepScene
	passes int // The scans of the step so far.
}

// stepScene is the state of the source in a step.
type stepScene struct {
	rows   [][]row.Value
	staged []scanners.StagedTable
	tables bool // The probe runs on staged.
	fault  error
}

// play sets the state of the source for the next run.
func (s *script) play(step stepScene) { s.step, s.passes = step, 0 }

// Prepare implements scanners.Source.
func (s *script) Prepare(_ context.Context, stmt *probe.Statement) (scanners.PreparedProbe, error) {
	return &scriptedProbe{s, stmt}, nil
}

// Ping implements scanners.Source.
func (s *script) Ping(context.Context) error { return nil }

// Close implements scanners.Source.
func (s *script) Close() error { return nil }

type scriptedProbe struct {
	*script
	stmt *probe.Statement
}

// Columns implements scanners.PreparedProbe.
func (p *scriptedProbe) Columns() []row.Column { return p.columns }

// Scan implements scanners.PreparedProbe.
func (p *scriptedProbe) Scan(ctx context.Context, req scanners.Request, visit func(*row.Row) error) (scanners.Result, error) {
	p.passes++
	switch {
	case p.step.fault != nil:
		return scanners.Result{}, p.step.fault
	case p.step.tables:
		return p.query(ctx, req, visit)
	}
	res := scanners.Result{}
	shared := row.New(p.columns)
	for _, values := range p.step.rows {
		if p.passes > 1 && !p.above(values, req.Args) {
			continue // In a later pass a probe with a watermark returns only rows above it.
		}
		if req.MaxRows > 0 && res.Rows == req.MaxRows {
			res.More = true
			return res, nil
		}
		copy(shared.Values, values)
		res.Rows++
		if err := visit(shared); err != nil {
			return res, err
		}
	}
	return res, nil
}

// above tells whether a row lies above the watermark that the scan begins at.
func (p *scriptedProbe) above(values []row.Value, args map[string]any) bool {
	for i, at := range p.watermark {
		mark, ok := args[p.marks[i]].(row.Value)
		if !ok {
			continue // The statement has no parameter for this column.
		}
		if order, err := row.Compare(values[at], mark); err != nil || order != 0 {
			return err != nil || order > 0
		}
	}
	return false
}

// query runs the probe on the tables of the step.
func (p *scriptedProbe) query(ctx context.Context, req scanners.Request, visit func(*row.Row) error) (res scanners.Result, err error) {
	session, err := p.sessions.Session(ctx, p.step.staged)
	if err != nil {
		return scanners.Result{}, err
	}
	defer func() { err = errors.Join(err, session.Close()) }()
	prepared, err := session.Prepare(ctx, p.stmt)
	if err != nil {
		return scanners.Result{}, err
	}
	if got := prepared.Columns(); !slices.EqualFunc(got, p.columns, sameColumn) {
		return scanners.Result{}, scanners.Changed(fmt.Errorf("the statement returns other columns than at the first step"))
	}
	return prepared.Scan(ctx, req, visit)
}

func sameColumn(a, b row.Column) bool { return a.Name == b.Name && a.Kind == b.Kind }

// faultOf returns the error that a step names.
func faultOf(words string) error {
	switch words {
	case "timeout":
		return &scanners.Error{Code: scanners.CodeTimeout, Transient: true, Err: errors.New("the test says: the statement took too long")}
	case "unreachable":
		return &scanners.Error{Code: scanners.CodeUnreachable, Transient: true, Err: errors.New("the test says: no connection")}
	}
	return &scanners.Error{Code: scanners.CodeFailed, Transient: true, Err: errors.New(words)}
}
