package condition

import (
	"fmt"
	"time"

	"tallyman/rules/row"
)

// What the evaluation of one row may build and read, in bytes. Reading is counted for texts of freeText and
// more only.
const (
	maxWork  = 4 << 20
	maxRead  = 64 << 20
	freeText = 4 << 10
)

// frame is the state of one evaluation. A failure is kept here and the failed part is NULL, which
// leads quickly to the end, where the failure is what counts.
type frame struct {
	row   *row.Row
	now   time.Time
	slots []slot      // the variables of let
	args  []row.Value // a stack of the arguments of the calls that are being evaluated
	err   error       // the first failure
	work  int
	seen  int
}

// slot holds the value of a variable.
type slot struct {
	val  row.Value
	list []row.Value
	tree any
}

func (f *frame) begin(r *row.Row) {
	f.row, f.err, f.work, f.seen = r, nil, 0, 0
}

// fail records that the row cannot be judged and returns NULL.
func (f *frame) fail(offset int, format string, args ...any) row.Value {
	if f.err == nil {
		f.err = &Error{Offset: offset, Code: CodeValue, Message: fmt.Sprintf(format, args...)}
	}
	return row.Value{}
}

// read accounts for going through a text; false, with a failure, where that is too much.
func (f *frame) read(s string, offset int) bool {
	return len(s) < freeText || f.charge(len(s), offset)
}

// charge counts towards maxRead.
func (f *frame) charge(n, offset int) bool {
	if f.seen += n; n > maxRead || f.seen > maxRead {
		f.fail(offset, "the expression reads more text than it may for one row")
		return false
	}
	return true
}

// spend accounts for n bytes about to be built; false, with a failure, where that is too much.
func (f *frame) spend(n, offset int) bool {
	if n < 0 || n > maxWork || f.work+n > maxWork {
		f.fail(offset, "the expression builds more than %d MB for one row", maxWork>>20)
		return false
	}
	f.work += n
	return true
}
