package sqldb

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"tallyman/rules/row"
	"tallyman/scanners"
)

// Scan runs the statement and converts its rows as they arrive.
func (p *prepared) Scan(ctx context.Context, req scanners.Request, visit func(*row.Row) error) (scanners.Result, error) {
	args, err := Bind(p.source.config.Dialect, req.Args, p.order)
	if err != nil {
		return scanners.Result{}, err
	}
	timeout := req.Timeout
	if timeout <= 0 {
		timeout = p.source.config.StatementTimeout
	}
	if p.session != nil {
		return p.session.scan(ctx, p, args, timeout, req.MaxRows, visit)
	}
	h, err := p.source.begin(ctx, timeout, p.source.config.Dialect.Begin)
	if err != nil {
		return scanners.Result{}, err
	}
	defer h.end(ctx)
	return h.scan(ctx, p, args, timeout, req.MaxRows, visit)
}

// scan runs the statement on a connection that is held.
func (h *held) scan(
	ctx context.Context, p *prepared, args []any, timeout time.Duration, maxRows int, visit func(*row.Row) error,
) (scanners.Result, error) {
	outer := ctx
	ctx, cancel := context.WithTimeout(ctx, timeout+h.source.config.Grace)
	defer cancel()
	wire := h.source.wires.find(h.conn)
	wire.bound(h.source.config.perWire())
	defer wire.bound(0)
	rows, free, err := h.tx.Query(ctx, p.sql, args)
	if err != nil {
		if ctx.Err() != nil || wire.wasOver() {
			h.cut(outer)
		}
		if wire.wasOver() {
			return scanners.Result{}, p.tooMuch()
		}
		return scanners.Result{}, h.source.mapError(ctx, err, scanners.CodeFailed)
	}
	defer free()
	defer func() { _ = rows.Close() }()
	result, visitErr := p.read(ctx, rows, wire, maxRows, visit)
	if visitErr != nil || result.More {
		h.stop(ctx, cancel, rows)
		if ctx.Err() != nil {
			h.cut(outer)
		}
		return result, visitErr
	}
	if err := rows.Err(); err != nil {
		if ctx.Err() != nil || wire.wasOver() {
			h.cut(outer)
		}
		if wire.wasOver() {
			return result, p.tooMuch()
		}
		return result, h.source.mapError(ctx, err, scanners.CodeFailed)
	}
	return result, nil
}

// read visits the rows until there are no more, one cannot be converted, visit has enough, or maxRows is exceeded.
func (p *prepared) read(
	ctx context.Context, rows *sql.Rows, wire *wire, maxRows int, visit func(*row.Row) error,
) (scanners.Result, error) {
	var result scanners.Result
	names, err := rows.Columns()
	if err != nil {
		return result, p.source.mapError(ctx, err, scanners.CodeFailed)
	}
	if err := p.sameNames(names); err != nil {
		return result, err
	}
	c := newCursor(p)
	for ; rows.Next(); wire.row() {
		if maxRows > 0 && result.Rows == maxRows {
			result.More = true
			return result, nil
		}
		if err := c.read(rows); err != nil {
			return result, p.source.mapError(ctx, err, scanners.CodeFailed)
		}
		result.Rows++
		if err := visit(c.row); err != nil {
			return result, err
		}
	}
	return result, nil
}

// What comes beside the bytes of values: what the protocol adds, and what a driver's buffer, or TLS, holds of the next row.
const (
	wireSlack = 512 << 10
	wireShare = 32 // part of the values
)

// perWire is how many bytes may come between two rows.
func (c *Config) perWire() int {
	rows := max(c.Ahead, 1) * c.Limits.Row
	return rows + rows/wireShare + wireSlack
}

// tooMuch is the error of a connection that was closed because too much came. The bytes were counted before the driver made values of
// them. So the column is known only where the others, each as large as it may be, leave no other.
func (p *prepared) tooMuch() *scanners.Error {
	c := &p.source.config
	switch {
	case c.Ahead > 1:
		return &scanners.Error{
			Code: scanners.CodeTooLarge, Hint: "select fewer or shorter columns, or raise the source's max_row_bytes",
			Err: fmt.Errorf("the rows that the database sends at once hold more than %d bytes", c.Ahead*c.Limits.Row),
		}
	case len(p.large) > 0 && p.small+len(p.large)*c.Limits.Cell <= c.Limits.Row:
		return c.Limits.CellError(0, p.large...)
	}
	return c.Limits.RowError(0)
}
