package codec

import (
	"time"

	"tallyman/internal/delivery"
	"tallyman/internal/ledger"
)

// ClocksDiffer is an upper bound of the difference between the clocks of nodes and of Redis.
const ClocksDiffer = time.Minute

// Mark is a row of marks without its notice.
type Mark struct {
	User, Kind, Warehouse string
	At                    int64
}

// Columns returns pointers to the fields in the order of the query's columns.
func (m *Mark) Columns() []any { return []any{&m.User, &m.Kind, &m.Warehouse, &m.At} }

// Mark returns the row in the ledger's form.
func (m *Mark) Mark(notice string) ledger.Mark {
	return ledger.Mark{Notice: notice, Warehouse: m.Warehouse, User: m.User, Kind: ledger.MarkKind(m.Kind), At: Time(m.At)}
}

// MarkArgs returns the columns of a mark.
func MarkArgs(m *ledger.Mark) []any {
	return []any{m.Notice, m.User, string(m.Kind), m.Warehouse, Micros(m.At)}
}

// MarkRow is a row of marks with all columns that the index in Redis needs.
type MarkRow struct {
	notice, user, kind, warehouse string
	at, expires                   int64
}

// Columns returns pointers to the fields in the order of the query's columns.
func (m *MarkRow) Columns() []any {
	return []any{&m.notice, &m.user, &m.kind, &m.warehouse, &m.at, &m.expires}
}

// Mark returns the row in the form of the index.
func (m *MarkRow) Mark() delivery.Mark {
	return delivery.Mark{
		Notice: m.notice, Warehouse: m.warehouse, User: m.user, Acked: m.kind == string(ledger.MarkAcked), At: Time(m.at), Expires: Time(m.expires),
	}
}

// PlaceAfter returns the arguments for a page of marks behind m. first is the time or the expiry of m, whichever
// orders the pages.
func PlaceAfter(first time.Time, m *delivery.Mark) []any {
	kind := ""
	switch {
	case m.Acked:
		kind = string(ledger.MarkAcked)
	case m.Notice != "":
		kind = string(ledger.MarkRead)
	}
	return []any{Micros(first), m.Notice, m.User, kind}
}

// Read is a row of reads.
type Read struct {
	warehouse, user, inbox string
	score, at              int64
}

// Columns returns pointers to the fields in the order of the query's columns.
func (r *Read) Columns() []any { return []any{&r.warehouse, &r.user, &r.inbox, &r.score, &r.at} }

// Watermark returns the row in the form of the index.
func (r *Read) Watermark() delivery.Watermark {
	return delivery.Watermark{Warehouse: r.warehouse, User: r.user, Inbox: r.inbox, Score: r.score, At: Time(r.at)}
}

// Needless returns the `unless` values of the deliveries that a mark makes needless, and the reason for their
// records. An ack is also a read.
func Needless(m *ledger.Mark) (unless []string, reason string) {
	if m.Kind == ledger.MarkAcked {
		return []string{string(delivery.UnlessRead), string(delivery.UnlessAcked)}, "acked by " + m.User
	}
	return []string{string(delivery.UnlessRead)}, ReadBy(m.User)
}

// ReadBy returns the reason in the record of a delivery that became needless because the user read the notice.
func ReadBy(user string) string { return "read by " + user }
