package send

import (
	"net/http"
	"strconv"

	"tallyman/internal/wire"
)

// maxFaults is how many faults of a body are told.
const maxFaults = 100

// faults collects what is wrong with a body. The problem has the code of the first.
type faults struct {
	code wire.Code
	list []wire.Fault
	more int // that were left out
}

// add adds a fault.
func (f *faults) add(code wire.Code, at, message string) {
	if f.code == "" {
		f.code = code
	}
	if len(f.list) == maxFaults {
		f.more++
		return
	}
	f.list = append(f.list, wire.Fault{Location: at, Message: message})
}

// problem is nil where there are none.
func (f *faults) problem() *wire.Problem {
	if len(f.list) == 0 {
		return nil
	}
	list := f.list
	if f.more > 0 {
		list = append(list, wire.Fault{Message: "and " + strconv.Itoa(f.more) + " more"})
	}
	p := wire.NewProblem(http.StatusUnprocessableEntity, f.code, list[0].Location+": "+list[0].Message)
	p.Errors = list
	return p
}
