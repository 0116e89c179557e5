package condition

import (
	"fmt"
	"time"

	"tallyman/rules/row"
)

// bounds are the limits of one evaluation: the bytes that it may build (work) and read, and the steps inside
// predicates. Reading counts only for texts of freeText bytes and more.
type bounds struct {
	work, read, steps int
	what              string // What is evaluated, for messages: a row or a result.
}

var (
	rowBounds    = bounds{work: 4 << 20, read: 64 << 20, steps: 1_000_000, what: "row"}
	resultBounds = bounds{work: 64 << 20, read: 256 << 20, steps: 10_000_000, what: "result"}
)

const freeText = 4 << 10

// frame is the state of one evaluation. It keeps the first failure. The part that failed gives NULL, so that the
// evaluation ends quickly. After the evaluation, the caller looks at err first.
type frame struct {
	most  *bounds
	row   *row.Row   // The row. In a predicate over rows, the row that the predicate looks at.
	rows  []*row.Row // The rows of a result.
	now   time.Time
	slots []variableSlot // The variables of let.
	args  []row.Value    // A stack with the arguments of the calls that are being evaluated.
	err   error          // The first failure.
	work  int            // Bytes built so far.
	seen  int            // Bytes read so far.
	steps int            // Steps taken so far.
}

// variableSlot holds the value of a variable.
type variableSlot struct {
	val  row.Value
	list []row.Value
	tree any
	rec  *row.Row
	rows []*row.Row
}

func (f *frame) begin(r *row.Row) {
	f.row, f.rows, f.err, f.work, f.seen, f.steps = r, nil, nil, 0, 0, 0
}

// fail records that the row cannot be judged and returns NULL.
func (f *frame) fail(offset int, format string, args ...any) row.Value {
	if f.err == nil {
		f.err = &Error{Offset: offset, Code: CodeValue, Message: fmt.Sprintf(format, args...)}
	}
	return row.Value{}
}

// read counts the reading of a text. Where the limit is exceeded, it records a failure and returns false.
func (f *frame) read(s string, offset int) bool {
	return len(s) < freeText || f.charge(len(s), offset)
}

// charge counts n bytes as read. Where the limit is exceeded, it records a failure and returns false.
func (f *frame) charge(n, offset int) bool {
	if f.seen += n; n > f.most.read || f.seen > f.most.read {
		f.fail(offset, "the expression reads more text than it may for one %s", f.most.what)
		return false
	}
	return true
}

// spend counts n bytes before they are built. Where the limit is exceeded, it records a failure and returns false.
func (f *frame) spend(n, offset int) bool {
	if n < 0 || n > f.most.work || f.work+n > f.most.work {
		f.fail(offset, "the expression builds more than %d MB for one %s", f.most.work>>20, f.most.what)
		return false
	}
	f.work += n
	return true
}

// step counts n parts before a predicate evaluates them, or other work of that size. Where the limit is exceeded, it
// records a failure and returns false.
func (f *frame) step(n, offset int) bool {
	if f.steps += n; f.steps > f.most.steps {
		f.fail(offset, "the expression takes more than %d steps for one %s", f.most.steps, f.most.what)
		return false
	}
	return true
}

// slot makes a variable for a value like v. The variable is an operand that reads a new slot of the frame.
func (c *compiler) slot(v operand) operand {
	i := c.slots
	c.slots++
	variable := operand{shape: v.shape, kind: v.kind, column: -1, slot: i}
	variable.val = func(f *frame) row.Value { return f.slots[i].val }
	switch v.shape {
	case list:
		variable.list = func(f *frame) []row.Value { return f.slots[i].list }
	case tree:
		variable.tree = func(f *frame) any { return f.slots[i].tree }
	case record:
		variable.rec = func(f *frame) *row.Row { return f.slots[i].rec }
	case records:
		variable.rows = func(f *frame) []*row.Row { return f.slots[i].rows }
	case scalar:
	}
	return variable
}

// bindVariable fills the variable's slot with v and then evaluates body.
func bindVariable(variable, v, body operand) operand {
	i := variable.slot
	fill := func(f *frame) {
		s := &f.slots[i]
		switch v.shape {
		case list:
			s.list = v.list(f)
		case tree:
			s.tree, s.val = v.tree(f), v.val(f)
		case record:
			s.rec = v.rec(f)
		case records:
			s.rows = v.rows(f)
		case scalar:
			s.val = v.val(f)
		}
	}
	o := operand{shape: body.shape, kind: body.kind, offset: body.offset, column: -1}
	if body.val != nil {
		o.val = func(f *frame) row.Value { fill(f); return body.val(f) }
	}
	if body.list != nil {
		o.list = func(f *frame) []row.Value { fill(f); return body.list(f) }
	}
	if body.tree != nil {
		o.tree = func(f *frame) any { fill(f); return body.tree(f) }
	}
	if body.rec != nil {
		o.rec = func(f *frame) *row.Row { fill(f); return body.rec(f) }
	}
	if body.rows != nil {
		o.rows = func(f *frame) []*row.Row { fill(f); return body.rows(f) }
	}
	return o
}
