package condition

import (
	"fmt"
	"time"

	"tallyman/rules/row"
)

// maxWork is what the evaluation of one row may build, in bytes.
const maxWork = 4 << 20

// frame is the state of one evaluation. A failure is kept here and the failed part is NULL, which
// leads quickly to the end, where the failure is what counts.
type frame struct {
	row   *row.Row
	now   time.Time
	slots []slot      // the variables of let
	args  []row.Value // a stack of the arguments of the calls that are being evaluated
	err   error       // the first failure
	work  int
}

// slot holds the value of a variable.
type slot struct {
	val  row.Value
	list []row.Value
	tree any
}

func (f *frame) begin(r *row.Row) {
	f.row, f.err, f.work = r, nil, 0
}

// fail records that the row cannot be judged and returns NULL.
func (f *frame) fail(offset int, format string, args ...any) row.Value {
	if f.err == nil {
		f.err = &Error{Offset: offset, Code: CodeValue, Message: fmt.Sprintf(format, args...)}
	}
	return row.Value{}
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
