package sqldb

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"time"
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

// stop ends a statement whose rows are not wanted any more.
func (h *held) stop(ctx context.Context, cancel context.CancelFunc, rows *sql.Rows) {
	if ctx.Err() == nil {
		defer time.AfterFunc(endTimeout, cancel).Stop()
		h.tx.Stop(ctx, cancel)
	}
	for rows.Next() { // what was on its way; unlike this, Close would not heed the context
	}
	_ = rows.Close()
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
