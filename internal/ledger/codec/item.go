package codec

import (
	"math"
	"strings"
	"unicode/utf8"

	"tallyman/internal/item"
)

// Item is a row of items, joined with the row of open_items if the item has not ended.
type Item struct {
	Seq, Created, Ready, Until                    int64
	Priority                                      int16
	Order                                         int64 // in thousandths, or noOrder
	ID, Warehouse, Bucket, Key, Subject, By, Node string
	Payload                                       []byte
	SubjectHash                                   int64 // 0 = no subject
	State                                         string
	Moves, Due                                    int64
	Attempt                                       int64 // int64, because it jumps whenever an index is rebuilt
	Failures, Suspends                            int32
	Assignee                                      string
	// Revision.Text of the revision that waits for the end of the lease; "" = none
	News string
}

// NewItem makes the row of a record.
func NewItem(r *item.Record, seq int64) Item {
	i := Item{
		Seq: seq, Created: Micros(r.Created), Ready: Micros(r.Ready), Until: Micros(r.Until), Priority: int16(r.Priority), //nolint:gosec // 1 … 5
		ID: r.ID, Warehouse: Text(r.Warehouse), Bucket: Text(r.Bucket), Key: Text(r.DedupeKey), Subject: Text(r.Subject), By: Text(r.By), Node: Text(r.Node),
		Payload: r.Payload, State: r.State.Letter(), Moves: r.Moves, Due: Micros(r.Due), Attempt: int64(r.Attempt),
		Failures: int32(r.Failures), Suspends: int32(r.Suspends), Assignee: Text(r.Assignee), //nolint:gosec // counts
	}
	i.SubjectHash, i.Order = SubjectHash(i.Subject), Order(r.Order)
	if i.Payload == nil {
		i.Payload = []byte{} // not NULL
	}
	return i
}

// noOrder is the column's value for an item without an order.
const noOrder = math.MinInt64

// Order encodes an order for its column.
func Order(o item.ServiceOrder) int64 {
	if !o.Given {
		return noOrder
	}
	return o.Thousandths
}

// order is the reverse of Order.
func order(column int64) item.ServiceOrder {
	if column == noOrder {
		return item.ServiceOrder{}
	}
	return item.ServiceOrder{Given: true, Thousandths: column}
}

// Columns returns pointers to the fields in the order of the columns that the queries of unfinished items name.
func (i *Item) Columns() []any {
	return append(i.ItemColumns(), &i.State, &i.Moves, &i.Attempt, &i.Failures, &i.Suspends, &i.Due, &i.Assignee, &i.News)
}

// ItemColumns returns pointers to the fields in the order of the columns that the queries of ended items name. All of
// these columns are in the table items.
func (i *Item) ItemColumns() []any {
	return []any{
		&i.Seq, &i.ID, &i.Priority, &i.Payload, &i.Key, &i.Created, &i.Ready, &i.Until, &i.Bucket, &i.Subject, &i.By, &i.Node,
		&i.Warehouse, &i.Order,
	}
}

// Record returns the row in the ledger's form. The payload is not copied.
func (i *Item) Record() (item.Record, error) {
	r := item.Record{
		New: item.New{
			ID: i.ID, Warehouse: i.Warehouse, Priority: int(i.Priority), Order: order(i.Order), Payload: i.Payload, DedupeKey: i.Key, Created: Time(i.Created), Subject: i.Subject,
		},
		Seq: i.Seq, Bucket: i.Bucket, Until: Time(i.Until), Ready: Time(i.Ready), By: i.By, Node: i.Node,
		Moves: i.Moves, Attempt: int(i.Attempt), Failures: int(i.Failures), Suspends: int(i.Suspends), Due: Time(i.Due),
		Assignee: i.Assignee,
	}
	r.Delay = r.Ready.Sub(r.Created)
	var err error
	if i.State != "" {
		r.State, err = item.FromLetter(i.State)
	}
	if err == nil && i.News != "" {
		var news *item.Revision
		if news, err = item.ParseRevision(i.News); err == nil {
			r.News = &item.News{Revision: *news}
		}
	}
	return r, err
}

// Stand completes the record of an ended item with its state after the last move.
func Stand(r *item.Record, moves []item.Move) {
	if len(moves) == 0 {
		return
	}
	last := &moves[len(moves)-1]
	r.State, r.Moves, r.Attempt, r.Failures, r.Suspends = last.To, last.N, last.Attempt, last.Failures, last.Suspends
	r.Due, r.Assignee = last.Due, last.Assignee
}

// FirstMove returns the first entry of an item's trace: its push.
func FirstMove(r *item.Record) item.Move {
	m := item.Move{Seq: r.Seq, At: r.Created, To: item.Ready, By: r.By, Node: r.Node}
	if r.Delay > 0 {
		m.To, m.Due = item.Delayed, r.Ready
	}
	return m
}

// SubjectHash returns the number by which statements find the items of a subject; 0 for no subject only. Different
// subjects may have the same number.
func SubjectHash(subject string) int64 {
	if subject == "" {
		return 0
	}
	return int64(hash(subject) | 1) //nolint:gosec // all 64 bits are used
}

// Text returns the text in a form that every database takes. Text changes only invalid UTF-8 and zero bytes. One worker
// or rule that sends such a text must not make the items fail that are recorded in the same transaction.
func Text(s string) string {
	if !utf8.ValidString(s) {
		s = strings.ToValidUTF8(s, "\uFFFD")
	}
	if strings.IndexByte(s, 0) >= 0 {
		s = strings.ReplaceAll(s, "\x00", "\uFFFD")
	}
	return s
}

// CompleteTrace completes the result of ItemTrace. moves are the moves that were recorded after the push, in order.
func CompleteTrace(r item.Record, moves []item.Move) (item.Record, []item.Move) {
	if r.State == "" {
		Stand(&r, moves)
	}
	if len(moves) > 0 && moves[0].From == "" { // The trace begins with the push of the first life.
		return r, moves
	}
	return r, append([]item.Move{FirstMove(&r)}, moves...)
}

// Page cuts a list to the limit. The list was read with one record more than the limit. next is the Seq below which
// more records follow, 0 = none. looked is the lowest Seq that was read, 0 = all were.
func Page(list []item.Record, limit int, looked int64) (page []item.Record, next int64) {
	if len(list) > limit {
		return list[:limit], list[limit-1].Seq
	}
	return list, looked
}

// Seqs returns the numbers of the records.
func Seqs(list []item.Record) []int64 {
	out := make([]int64, len(list))
	for i := range list {
		out[i] = list[i].Seq
	}
	return out
}
