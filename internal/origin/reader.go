package origin

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"tallyman/internal/ledger"
	"tallyman/rules/catalog"
	"tallyman/rules/row"
)

// mostFaults is how many rows are told that are no subscriptions.
const mostFaults = 3

// columns are those that the query returns, in any order.
var columns = []string{"subscriber", "type", "warehouse"}

// reader makes subscriptions of rows.
type reader struct {
	subscriber, typ, warehouse int // the columns
	byID                       map[string]string
	types                      catalog.Catalog

	rows   int
	subs   []ledger.Subscription
	faults []string
	wrong  int // rows
}

// newReader finds the columns. All three must be there, and no other: one that is misspelled would mean something else.
func newReader(list []row.Column, types catalog.Catalog) (*reader, error) {
	names := make([]string, len(list))
	for i, c := range list {
		names[i] = c.Name
	}
	sorted := slices.Sorted(slices.Values(names))
	if !slices.Equal(sorted, columns) {
		return nil, fmt.Errorf("the query returns the columns %s; it has to return %s", strings.Join(names, ", "), strings.Join(columns, ", "))
	}
	r := &reader{
		subscriber: slices.Index(names, "subscriber"), typ: slices.Index(names, "type"), warehouse: slices.Index(names, "warehouse"),
		types: types, byID: make(map[string]string, len(types)),
	}
	for code, t := range types {
		r.byID[strconv.FormatInt(t.ID, 10)] = code
	}
	return r, nil
}

// row takes one row, or notes why it is no subscription.
func (r *reader) row(x *row.Row) {
	r.rows++
	s := ledger.Subscription{Type: text(&x.Values[r.typ]), Warehouse: text(&x.Values[r.warehouse]), Subscriber: text(&x.Values[r.subscriber])}
	if code, found := r.byID[s.Type]; found {
		s.Type = code
	}
	fault := r.faultOf(x, s)
	if fault == "" {
		r.subs = append(r.subs, s)
		return
	}
	r.wrong++
	if len(r.faults) < mostFaults {
		r.faults = append(r.faults, fmt.Sprintf("row %d: %s", r.rows, fault))
	}
}

func (r *reader) faultOf(x *row.Row, s ledger.Subscription) string {
	_, known := r.types[s.Type]
	switch {
	case x.Values[r.subscriber].IsNull():
		return "subscriber is NULL"
	case x.Values[r.typ].IsNull():
		return "type is NULL"
	case x.Values[r.warehouse].IsNull():
		return "warehouse is NULL; write COALESCE(…, '*') where NULL means all warehouses"
	case !known:
		return fmt.Sprintf("the catalogue has no type %q", s.Type)
	}
	if err := s.Validate(); err != nil {
		return strings.TrimPrefix(err.Error(), ledger.ErrInvalid.Error()+": ")
	}
	return ""
}

// fault says which rows are no subscriptions: then none of the list is taken.
func (r *reader) fault() error {
	if r.wrong == 0 {
		return nil
	}
	more := ""
	if rest := r.wrong - len(r.faults); rest > 0 {
		more = fmt.Sprintf("; %d more", rest)
	}
	return fmt.Errorf("%d of %d rows are no subscriptions: %s%s", r.wrong, r.rows, strings.Join(r.faults, "; "), more)
}

// text copies the text of a value, which lives as long as its row. CHAR columns are padded in some databases.
func text(v *row.Value) string { return strings.TrimSpace(strings.Clone(v.String())) }
