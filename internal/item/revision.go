package item

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// Revision is what an item has become beside its state: since its finding was sent again, or since an operator has said so.
type Revision struct {
	Priority int
	Order    ServiceOrder
	Source   int64 // Seq of the refused record whose payload it has; 0 = it has kept its own
	Later    bool  // the item was leased: it takes all that when it waits again
}

var errRevision = errors.New("item: not a revision")

// Text is the revision as moves have it: "=priority,order,source", in thousandths and with - for no order; a + in place of the = says later.
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

// ParseRevision reads what Text has written.
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
