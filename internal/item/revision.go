package item

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// Revision is a change of an item's priority, order and payload without a change of state. It is made when the item's
// finding is sent again, or when an operator asks for it.
type Revision struct {
	Priority int
	Order    ServiceOrder
	Source   int64 // Seq of the refused record whose payload the item takes; 0 = the item keeps its own
	Later    bool  // The item was leased: it takes the revision when it waits again.
}

var errRevision = errors.New("item: not a revision")

// Text returns the revision as moves store it: "=priority,order,source". The order is in thousandths, or - for none.
// A + in place of the = means Later.
func (r *Revision) Text() string {
	mark, order := "=", "-"
	if r.Later {
		mark = "+"
	}
	if r.Order.Given {
		order = strconv.FormatInt(r.Order.Thousandths, 10)
	}
	return fmt.Sprintf("%s%d,%s,%d", mark, r.Priority, order, r.Source)
}

// ParseRevision is the reverse of Text.
func ParseRevision(text string) (*Revision, error) {
	fields := strings.Split(text, ",")
	if len(fields) != 3 || len(fields[0]) != 2 || fields[0][0] != '=' && fields[0][0] != '+' {
		return nil, fmt.Errorf("%w: %.80q", errRevision, text)
	}
	r := Revision{Later: fields[0][0] == '+', Priority: int(fields[0][1] - '0')}
	var badOrder, badSource error
	if fields[1] != "-" {
		r.Order.Given = true
		r.Order.Thousandths, badOrder = strconv.ParseInt(fields[1], 10, 64)
	}
	r.Source, badSource = strconv.ParseInt(fields[2], 10, 64)
	if badOrder != nil || badSource != nil || r.Source < 0 || r.Priority < LowestPriority || r.Priority > HighestPriority {
		return nil, fmt.Errorf("%w: %.80q", errRevision, text)
	}
	return &r, nil
}
