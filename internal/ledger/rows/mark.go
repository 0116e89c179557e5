package rows

import (
	"tallyman/internal/ledger"
	"tallyman/sinks"
)

// Mark is a row of marks but for its notice.
type Mark struct {
	User, Kind, Warehouse string
	At                    int64
}

// Columns returns pointers to the fields in the order of the query's columns.
func (m *Mark) Columns() []any { return []any{&m.User, &m.Kind, &m.Warehouse, &m.At} }

// Mark is the row as it was made.
func (m *Mark) Mark(notice string) ledger.Mark {
	return ledger.Mark{Notice: notice, Warehouse: m.Warehouse, User: m.User, Kind: ledger.MarkKind(m.Kind), At: Time(m.At)}
}

// MarkArgs returns the columns of a mark.
func MarkArgs(m *ledger.Mark) []any {
	return []any{m.Notice, m.User, string(m.Kind), m.Warehouse, Micros(m.At)}
}

// Needless returns which deliveries a mark makes needless, and what their record says of it. An ack is a read, too.
func Needless(m *ledger.Mark) (unless []string, reason string) {
	if m.Kind == ledger.MarkAcked {
		return []string{string(sinks.UnlessRead), string(sinks.UnlessAcked)}, "acked by " + m.User
	}
	return []string{string(sinks.UnlessRead)}, "read by " + m.User
}
