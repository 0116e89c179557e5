package condition

import (
	"slices"
	"time"

	"tallyman/rules/row"
)

// Program is a compiled expression. It is not safe for concurrent use; each run makes its own with Clone.
type Program struct {
	root    operand
	match   func(*frame) truth // nil where the result is no Bool
	columns []int
	frame   frame
}

// Kind returns the kind of the result: row.Null where it is always NULL, row.JSON where it comes out of a
// JSON column and is known at run time only.
func (p *Program) Kind() row.Kind { return p.root.kind }

// Columns returns the positions of the columns that the expression reads, ascending.
func (p *Program) Columns() []int { return p.columns }

// SetNow sets what now() returns: the firing's scheduled time, so that a repeated firing judges
// alike. Without it a row whose evaluation comes to now() is an error.
func (p *Program) SetNow(t time.Time) { p.frame.now = t }

// Clone returns a Program for another goroutine, with the same now.
func (p *Program) Clone() *Program {
	c := *p
	c.frame = frame{most: p.frame.most, now: p.frame.now, slots: make([]slot, len(p.frame.slots))}
	return &c
}

// Eval returns the result for the row, which has the columns that the program was compiled for. Its text
// may point into the row; whoever keeps it calls Clone. An error is an *Error: this row cannot be judged.
func (p *Program) Eval(r *row.Row) (row.Value, error) {
	p.frame.begin(r)
	return p.eval()
}

// EvalResult is Eval for a program of CompileResult. The rows have the columns that it was compiled for.
func (p *Program) EvalResult(rows []*row.Row) (row.Value, error) {
	p.frame.begin(nil)
	p.frame.rows = rows
	return p.eval()
}

func (p *Program) eval() (row.Value, error) {
	f := &p.frame
	v := p.root.val(f)
	if f.err != nil {
		return row.Value{}, f.err
	}
	return v, nil
}

// Match tells whether the result is TRUE; NULL is not.
func (p *Program) Match(r *row.Row) (bool, error) {
	p.frame.begin(r)
	return p.judge()
}

// MatchResult is Match for a program of CompileResult.
func (p *Program) MatchResult(rows []*row.Row) (bool, error) {
	p.frame.begin(nil)
	p.frame.rows = rows
	return p.judge()
}

func (p *Program) judge() (bool, error) {
	f := &p.frame
	if p.match == nil {
		return false, &Error{Offset: p.root.offset, Code: CodeType, Message: "the expression gives " + p.root.kind.String() + ", not a bool"}
	}
	t := p.match(f)
	if f.err != nil {
		return false, f.err
	}
	return t == yes, nil
}

// program makes the Program of a compiled tree.
func (c *compiler) program(root operand) *Program {
	p := &Program{root: root, frame: frame{most: &rowBounds, slots: make([]slot, c.slots)}}
	if c.result {
		p.frame.most = &resultBounds
	}
	if root.kind == row.Bool || root.kind == row.Null || root.kind == row.JSON {
		p.match = root.truth()
	}
	for i := range c.used {
		p.columns = append(p.columns, i)
	}
	slices.Sort(p.columns)
	return p
}
