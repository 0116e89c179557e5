package condition

import (
	"time"

	"tallyman/rules/row"
)

// Program is a compiled expression. It is not safe for concurrent use; each run makes its own with Clone.
type Program struct {
	kind    row.Kind
	columns []int
	now     time.Time
}

// Kind returns the kind of the result: row.Null where it is always NULL, row.JSON where it is known at
// run time only.
func (p *Program) Kind() row.Kind { return p.kind }

// Columns returns the positions of the columns that the expression reads, ascending.
func (p *Program) Columns() []int { return p.columns }

// Clone returns a Program for another goroutine.
func (p *Program) Clone() *Program { c := *p; return &c }

// SetNow sets what now() returns: the firing's scheduled time.
func (p *Program) SetNow(t time.Time) { p.now = t }

// Eval returns the result for the row. Its text may point into the row; whoever keeps it calls Clone.
func (p *Program) Eval(r *row.Row) (row.Value, error) { return row.Value{}, nil }

// Match tells whether the result is TRUE; NULL is not.
func (p *Program) Match(r *row.Row) (bool, error) { return false, nil }
