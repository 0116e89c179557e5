package sqldb

import (
	"context"
	"database/sql"
	"database/sql/driver"
)

// held is a connection with its transaction.
type held struct {
	source *Source
	conn   *sql.Conn
	tx     Transaction
	gone   bool // the connection was closed under the transaction
}

// end rolls back and gives the connection back.
func (h *held) end(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), endTimeout)
	defer cancel()
	if !h.gone && h.tx.End(ctx) != nil {
		h.gone = true
		drop(h.conn)
	}
	_ = h.conn.Close()
}

// cut closes the connection of a statement that was stopped before its end, and stops it on the server too.
func (h *held) cut(ctx context.Context) {
	if h.gone {
		return
	}
	h.gone = true
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), endTimeout)
	defer cancel()
	drop(h.conn)
	h.tx.Abandon(ctx)
}

// drop closes the connection instead of giving it back.
func drop(conn *sql.Conn) {
	_ = conn.Raw(func(any) error { return driver.ErrBadConn })
	_ = conn.Close()
}
