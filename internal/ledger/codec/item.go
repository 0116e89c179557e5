package codec

import (
	"math"
	"strings"
	"unicode/utf8"

	"tallyman/internal/item"
)

// Item is a row of items, with that of open_items where the item has not ended.
type Item struct {
	Seq, Created, Ready, Until                    int64
	Priority                                      int16
	Order                                         int64 // thousandths, or noOrder
	ID, Warehouse, Bucket, Key, Subject, By, Node string
	Payload                                       []byte
	SubjectHash                                   int64 // 0 = it has no subject
	State                                         string
	Moves, Due                                    int64
	Attempt                                       int64 // it jumps whenever an index is written back
	Failures, Suspends                            int32
	Assignee                                      string
	News                                          string // the text of the revision that waits for the end of the lease
}

// NewItem is the row of a record.
func NewItem(r *item.Record, seq int64) Item {
	i := Item{
		Seq: seq, Created: Micros(r.Created), Ready: Micros(r.Ready), Until: Micros(r.Until), Priority: int16(r.Priority), //nolint:gosec // 1 … 5
		ID: r.ID, Warehouse: Text(r.Warehouse), Bucket: Text(r.Bucket), Key: Text(r.DedupeKey), Subject: Text(r.Subject), By: Text(r.By), Node: Text(r.Node),
		Payload: r.Payload, State: r.State.Letter(), Moves: r.Moves, Due: Micros(r.Due), Attempt: int64(r.Attempt),
		Failures: int32(r.Failures), Suspends: int32(r.Suspends), Assignee: Text(r.Assignee), //nolint:gosec // counts
	}
	i.SubjectHash, i.Order = SubjectHash(i.Subject), Order(r.Order)
	if i.Payload == nil {
		i.Payload = []byte{} // which is not NULL
	}
	return i
}

// noOrder stands in a column for none.
const noOrder = math.MinInt64

// Order is the column of an order.
func Order(o item.ServiceOrder) int64 {
	if !o.Given {
		return noOrder
	}
	return o.Thousandths
}

// order reads the column.
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

// ItemColumns are those that the queries of ended items name: what does not change.
func (i *Item) ItemColumns() []any {
	return []any{
		&i.Seq, &i.ID, &i.Priority, &i.Payload, &i.Key, &i.Created, &i.Ready, &i.Until, &i.Bucket, &i.Subject, &i.By, &i.Node,
		&i.Warehouse, &i.Order,
	}
}

// Record is the row as the ledger's callers see it. The payload is the row's own.
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

// Stand sets how an item that has ended stood after its last move.
func Stand(r *item.Record, moves []item.Move) {
	if len(moves) == 0 {
		return
	}
	last := &moves[len(moves)-1]
	r.State, r.Moves, r.Attempt, r.Failures, r.Suspends = last.To, last.N, last.Attempt, last.Failures, last.Suspends
	r.Due, r.Assignee = last.Due, last.Assignee
}

// FirstMove is the first record of an item's trace.
func FirstMove(r *item.Record) item.Move {
	m := item.Move{Seq: r.Seq, At: r.Created, To: item.Ready, By: r.By, Node: r.Node}
	if r.Delay > 0 {
		m.To, m.Due = item.Delayed, r.Ready
	}
	return m
}

// SubjectHash is the number by which items of a subject are found: never 0, but for none. Others may have it too.
func SubjectHash(subject string) int64 {
	if subject == "" {
		return 0
	}
	return int64(hash(subject) | 1) //nolint:gosec // all 64 bits are used
}

// Text makes a text one that every database takes. Only what is no text is changed by it: a worker or a rule that sends
// such must not hold up those whose items are recorded together with its own.
func Text(s string) string {
	if !utf8.ValidString(s) {
		s = strings.ToValidUTF8(s, "\uFFFD")
	}
	if strings.IndexByte(s, 0) >= 0 {
		s = strings.ReplaceAll(s, "\x00", "\uFFFD")
	}
	return s
}

// CompleteTrace completes the answer to ItemTrace: the moves are those that were recorded after the push, in order.
func CompleteTrace(r item.Record, moves []item.Move) (item.Record, []item.Move) {
	if r.State == "" {
		Stand(&r, moves)
	}
	if len(moves) > 0 && moves[0].From == "" { // its first life's
		return r, moves
	}
	return r, append([]item.Move{FirstMove(&r)}, moves...)
}

// Page cuts a list, which was read with one more than the limit, to the limit, and returns the Seq below which there are more, 0 = there
// are none. Looked is the lowest Seq that was looked at, 0 = all were.
func Page(list []item.Record, limit int, looked int64) (page []item.Record, next int64) {
	if len(list) > limit {
		return list[:limit], list[limit-1].Seq
	}
	return list, looked
}

// Seqs are those of the records.
func Seqs(list []item.Record) []int64 {
	out := make([]int64, len(list))
	for i := range list {
		out[i] = list[i].Seq
	}
	return out
}
