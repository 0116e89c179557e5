package condition

import (
	"time"

	"tallyman/rules/row"
)

// Outcome is what a part of a condition comes to for one row.
type Outcome uint8

// The outcomes.
const (
	Unreached Outcome = iota // what stands before it has decided already
	False
	True
	Null
	Failed // it cannot be judged for this row
)

// String returns the name that output uses.
func (o Outcome) String() string {
	return [...]string{"not reached", "false", "true", "null", "error"}[o]
}

// Part is a piece of a condition that is true or false by itself: the condition as a whole, or an operand of
// and, or, not or ? :.
type Part struct {
	Offset   int    // in characters from the start of the condition
	Text     string // as written, without the brackets around it
	Depth    int    // 0 for the whole
	Constant bool   // alike for every row
}

// Parts is a condition taken apart. Like a Program it is not safe for concurrent use.
type Parts struct {
	list  []Part
	nodes []partNode // of the same index
}

// partNode is how a part is evaluated, and the parts below it.
type partNode struct {
	made    made
	program *Program
	below   []int
}

// made says how a part is made of those below it.
type made uint8

const (
	madeOfNothing made = iota
	madeByAnd          // of two or more
	madeByOr           // of two or more
	madeByNot
	madeByChoice // test, first, second
)

// NewParts takes a condition apart that Compile accepts for these columns. What cannot stand alone (the inside of
// a predicate, say) belongs to the part around it.
func NewParts(src string, columns []row.Column) (*Parts, error) {
	return newParts(src, columns, func(src string) (*Program, error) { return Compile(src, columns) })
}

// NewResultParts is NewParts for a condition that CompileResult accepts.
func NewResultParts(src string, columns []row.Column) (*Parts, error) {
	return newParts(src, resultVariables, func(src string) (*Program, error) { return CompileResult(src, columns) })
}

// List returns the parts: the whole first, then each before what it is made of, in the order of the source.
func (p *Parts) List() []Part { return p.list }

// SetNow is Program.SetNow.
func (p *Parts) SetNow(t time.Time) {
	for _, n := range p.nodes {
		n.program.SetNow(t)
	}
}

// Outcomes returns what each part of List comes to for the row, and why those that failed did. The result has the
// length of List.
func (p *Parts) Outcomes(r *row.Row) ([]Outcome, []error) {
	return p.outcomes(func(part *Program) (bool, error) { return part.Match(r) }, func(part *Program) (row.Value, error) { return part.Eval(r) })
}

// ResultOutcomes is Outcomes for parts of NewResultParts.
func (p *Parts) ResultOutcomes(rows []*row.Row) ([]Outcome, []error) {
	return p.outcomes(func(part *Program) (bool, error) { return part.MatchResult(rows) }, func(part *Program) (row.Value, error) { return part.EvalResult(rows) })
}

func (p *Parts) outcomes(match func(*Program) (bool, error), eval func(*Program) (row.Value, error)) ([]Outcome, []error) {
	w := &walker{parts: p, match: match, eval: eval, outcomes: make([]Outcome, len(p.list)), faults: make([]error, len(p.list))}
	w.walk(0)
	return w.outcomes, w.faults
}

// walker goes the way that the evaluation of the whole goes.
type walker struct {
	parts    *Parts
	match    func(*Program) (bool, error)
	eval     func(*Program) (row.Value, error)
	outcomes []Outcome
	faults   []error
}

func (w *walker) walk(i int) Outcome {
	n := &w.parts.nodes[i]
	w.outcomes[i], w.faults[i] = w.judge(n.program)
	visit := func(child int) Outcome { return w.walk(n.below[child]) }
	switch n.made {
	case madeByAnd, madeByOr:
		strong := False
		if n.made == madeByOr {
			strong = True
		}
		for k := range n.below {
			if o := visit(k); o == strong || o == Failed {
				break
			}
		}
	case madeByNot:
		visit(0)
	case madeByChoice:
		switch visit(0) {
		case True:
			visit(1)
		case False, Null:
			visit(2)
		case Unreached, Failed:
		}
	case madeOfNothing:
	}
	return w.outcomes[i]
}

func (w *walker) judge(p *Program) (Outcome, error) {
	v, err := w.eval(p)
	switch {
	case err != nil:
		return Failed, err
	case v.IsNull():
		return Null, nil
	case v.Kind() != row.Bool: // it comes out of a JSON column
		_, err := w.match(p)
		return Failed, err
	case v.Bool():
		return True, nil
	}
	return False, nil
}
