package origin

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"tallyman/internal/ledger"
	"tallyman/rules/catalog"
	"tallyman/rules/row"
)

// Subscriptions is the Kind of the subscriptions that a source lists.
type Subscriptions struct {
	Ledger interface {
		ledger.SubscriptionSyncer
		ledger.TypeReader
	}
	Source string // Name of the source, and the origin of its subscriptions.
	Author ledger.Author
}

// Origin implements Kind.
func (s *Subscriptions) Origin() ledger.OriginKey {
	return ledger.OriginKey{Kind: ledger.OriginSubscriptions, Name: s.Source}
}

// Most implements Kind.
func (*Subscriptions) Most() int { return 50_000 }

// Begin implements Kind.
func (s *Subscriptions) Begin(ctx context.Context, columns []row.Column) (List, error) {
	types, err := s.Ledger.Types(ctx)
	if err != nil {
		return nil, fmt.Errorf("read the types: %w", err)
	}
	read, err := newReader(columns, types)
	if err != nil {
		return nil, err
	}
	read.kind = s
	return read, nil
}

// columns are the columns that the query must return, in any order.
var columns = []string{"subscriber", "type", "warehouse"}

// reader converts rows to subscriptions.
type reader struct {
	faults
	kind                       *Subscriptions
	subscriber, typ, warehouse int // Indexes of the columns.
	byID                       map[string]string
	types                      catalog.Catalog

	subs []ledger.Subscription
}

// newReader finds the columns. It requires exactly the three columns, so that a misspelled column is an error.
func newReader(list []row.Column, types catalog.Catalog) (*reader, error) {
	names := make([]string, len(list))
	for i, c := range list {
		names[i] = c.Name
	}
	sorted := slices.Sorted(slices.Values(names))
	if !slices.Equal(sorted, columns) {
		return nil, fmt.Errorf("the query returns the columns %s; it must return %s", strings.Join(names, ", "), strings.Join(columns, ", "))
	}
	r := &reader{
		faults:     faults{what: "subscriptions"},
		subscriber: slices.Index(names, "subscriber"), typ: slices.Index(names, "type"), warehouse: slices.Index(names, "warehouse"),
		types: types, byID: make(map[string]string, len(types)),
	}
	for code, t := range types {
		r.byID[strconv.FormatInt(t.ID, 10)] = code
	}
	return r, nil
}

// Row adds the subscription of a row, or records the fault of the row.
func (r *reader) Row(x *row.Row) {
	s := ledger.Subscription{Type: text(&x.Values[r.typ]), Warehouse: text(&x.Values[r.warehouse]), Subscriber: text(&x.Values[r.subscriber])}
	if code, found := r.byID[s.Type]; found {
		s.Type = code
	}
	if r.add(r.faultOf(x, s)) {
		r.subs = append(r.subs, s)
	}
}

// Take implements List.
func (r *reader) Take(ctx context.Context, token int64) (Taken, error) {
	c, err := r.kind.Ledger.TakeSubscriptions(ctx, r.kind.Author, r.kind.Source, token, r.subs)
	return Taken{Waits: c.Waits, Confirm: "tallyman subscriptions confirm " + r.kind.Source, Added: len(c.Added), Removed: len(c.Removed)}, err
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
