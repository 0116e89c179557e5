package sqldb

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"
	"unsafe"

	"tallyman/rules/probe"
	"tallyman/rules/row"
	"tallyman/scanners"
)

// prepared is a statement as the database has described it.
type prepared struct {
	source  *Source
	session *Session // nil means that each scan has a transaction of its own
	sql     string
	order   []string // the names of the parameters, in order
	columns []row.Column
	convert []Convert
	large   []string // columns whose values may be larger than the source accepts
	small   int      // the most bytes that the values of all other columns can have together
}

// Prepare describes the statement without running it.
func (s *Source) Prepare(ctx context.Context, stmt *probe.Statement) (scanners.PreparedProbe, error) {
	h, err := s.begin(ctx, s.config.StatementTimeout, s.config.Dialect.Begin)
	if err != nil {
		return nil, err
	}
	defer h.end(ctx)
	return h.prepare(ctx, stmt)
}

// prepare describes the statement on a held connection.
func (h *heldTransaction) prepare(ctx context.Context, stmt *probe.Statement) (*prepared, error) {
	s := h.source
	outer := ctx
	ctx, cancel := context.WithTimeout(ctx, s.config.StatementTimeout+s.config.Grace)
	defer cancel()
	p := &prepared{source: s}
	p.sql, p.order = stmt.Render(s.config.Dialect.Style())
	columns, err := h.tx.Describe(ctx, stmt, p.sql)
	if err != nil {
		if ctx.Err() != nil {
			h.cut(outer)
		}
		return nil, s.mapError(ctx, err, scanners.CodeStatement)
	}
	for _, c := range columns {
		p.columns = append(p.columns, c.Column)
		p.convert = append(p.convert, c.Convert)
	}
	if err := scanners.Fold(p.columns); err != nil {
		return nil, err
	}
	for i, c := range columns {
		if c.Most == 0 || c.Most > s.config.Limits.Cell {
			p.large = append(p.large, p.columns[i].Name)
		} else {
			p.small += c.Most
		}
	}
	return p, nil
}

// Columns returns the columns of the result.
func (p *prepared) Columns() []row.Column { return p.columns }

// Bind returns the arguments in the order and the form in which the driver takes them.
func Bind(d Dialect, args map[string]any, order []string) ([]any, error) {
	values, err := scanners.Values(args, order)
	if err != nil {
		return nil, err
	}
	bound := make([]any, len(values))
	for i, v := range values {
		if bound[i], err = d.Bind(v); err != nil {
			return nil, scanners.ParamError(order[i], err, "")
		}
	}
	return bound, nil
}

// sameNames returns an error if the result does not have the prepared columns any more.
func (p *prepared) sameNames(names []string) error {
	same := len(names) == len(p.columns)
	for i := 0; same && i < len(names); i++ {
		same = strings.EqualFold(names[i], p.columns[i].Name)
	}
	if !same {
		return scanners.Changed(fmt.Errorf("the columns of the result have changed"))
	}
	return nil
}

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

// scan runs the statement on a held connection.
func (h *heldTransaction) scan(
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

// read visits the rows until the last one, the first error, or maxRows. read stops when visit returns an error.
func (p *prepared) read(
	ctx context.Context, rows *sql.Rows, wire *countedConn, maxRows int, visit func(*row.Row) error,
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

// Bytes on the wire in addition to the values: bytes of the protocol, and bytes of the next row in the buffers of the
// driver or of TLS.
const (
	wireSlack = 512 << 10
	wireShare = 32 // one byte more for each 32 bytes of values
)

// perWire is how many bytes may arrive between two rows.
func (c *Config) perWire() int {
	rows := max(c.Ahead, 1) * c.Limits.Row
	return rows + rows/wireShare + wireSlack
}

// tooMuch returns the error of a connection that was closed because of too many bytes. The wire counts bytes before the
// driver makes values of them. So the column is known only if no other column can be the cause.
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

// cursor is the state that a scan reuses from row to row.
type cursor struct {
	row   *row.Row
	texts Texts
	cells []cellReceiver
	dest  []any // the cells, in the form that database/sql takes
	err   error // the first error of a cell, without the words about Go that database/sql adds

	limits scanners.Limits
	bytes  int // bytes of the row's values so far
}

// cellReceiver receives the values of one column. cellReceiver takes the driver's value without the copy that a *any
// would cause.
type cellReceiver struct {
	cursor  *cursor
	column  *row.Column
	dst     *row.Value
	convert Convert
}

func newCursor(p *prepared) *cursor {
	c := &cursor{limits: p.source.config.Limits, row: row.New(p.columns), cells: make([]cellReceiver, len(p.columns)), dest: make([]any, len(p.columns))}
	for i := range c.cells {
		c.cells[i] = cellReceiver{cursor: c, column: &p.columns[i], dst: &c.row.Values[i], convert: p.convert[i]}
		c.dest[i] = &c.cells[i]
	}
	return c
}

// read converts the current row.
func (c *cursor) read(rows *sql.Rows) error {
	c.texts.buffer = c.texts.buffer[:0]
	c.bytes = 0
	if err := rows.Scan(c.dest...); err != nil {
		if c.err != nil {
			return c.err
		}
		return err
	}
	return nil
}

// Scan is called by database/sql.
func (c *cellReceiver) Scan(src any) error {
	if src == nil {
		if !c.column.Nullable {
			c.cursor.err = scanners.Changed(fmt.Errorf("column %s was NOT NULL and holds NULL", c.column.Name))
			return c.cursor.err
		}
		*c.dst = row.Value{}
		return nil
	}
	if err := c.cursor.count(c, src); err != nil {
		c.cursor.err = err
		return err
	}
	if err := c.convert(c.dst, src, &c.cursor.texts); err != nil {
		c.cursor.err = c.fault(err)
		return c.cursor.err
	}
	return nil
}

// count returns an error if the value is too large, or makes the row too large.
func (c *cursor) count(cell *cellReceiver, src any) error {
	size, err := c.limits.CheckValue(cell.column.Name, src, c.bytes)
	if err != nil {
		err.Err = fmt.Errorf("%w%s", err.Err, cell.where())
		return err
	}
	c.bytes += size
	return nil
}

// fault adds the column to an error. fault adds the row, too, unless the whole column has changed.
func (c *cellReceiver) fault(err error) error {
	if e, ok := errors.AsType[*scanners.Error](err); ok {
		return &scanners.Error{Code: e.Code, Transient: e.Transient, Hint: e.Hint, Err: fmt.Errorf("column %s: %w", c.column.Name, e.Err)}
	}
	return &scanners.Error{
		Code: scanners.CodeFailed, Hint: "correct the data, or CAST the column to the type of its values",
		Err: fmt.Errorf("column %s %w%s", c.column.Name, err, c.where()),
	}
}

// where names the row by its first column, if the first column was read already.
func (c *cellReceiver) where() string {
	first := &c.cursor.cells[0]
	if first == c {
		return ""
	}
	return fmt.Sprintf(" (where %s is %s)", first.column.Name, *first.dst)
}

// Keep copies b and returns it as a text that is valid until the next row.
func (t *Texts) Keep(b []byte) string {
	if len(b) == 0 {
		return ""
	}
	from := len(t.buffer)
	// If append moves the buffer, the earlier texts still point into the old buffer, which does not change.
	t.buffer = append(t.buffer, b...)
	return unsafe.String(&t.buffer[from], len(b)) //nolint:gosec // a Row says how long its texts live
}
