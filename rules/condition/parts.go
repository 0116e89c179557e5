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
	p, err := Compile(src, columns)
	if err != nil {
		return nil, err
	}
	s := &splitter{src: []rune(src), parts: &Parts{}, compile: func(src string) (*Program, error) { return Compile(src, columns) }}
	s.split(p, src, columns)
	return s.parts, nil
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
	outcomes, faults := make([]Outcome, len(p.list)), make([]error, len(p.list))
	p.walk(0, r, outcomes, faults)
	return outcomes, faults
}

// walk goes the way that the evaluation of the whole goes.
func (p *Parts) walk(i int, r *row.Row, outcomes []Outcome, faults []error) Outcome {
	n := &p.nodes[i]
	outcomes[i], faults[i] = n.judge(r)
	visit := func(child int) Outcome { return p.walk(n.below[child], r, outcomes, faults) }
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
	return outcomes[i]
}

func (n *partNode) judge(r *row.Row) (Outcome, error) {
	v, err := n.program.Eval(r)
	switch {
	case err != nil:
		return Failed, err
	case v.IsNull():
		return Null, nil
	case v.Kind() != row.Bool: // it comes out of a JSON column
		_, err := n.program.Match(r)
		return Failed, err
	case v.Bool():
		return True, nil
	}
	return False, nil
}
