package sqldb

import (
	"database/sql"
	"errors"
	"fmt"
	"unsafe"

	"tallyman/rules/row"
	"tallyman/scanners"
)

// cursor is what a scan reuses from row to row.
type cursor struct {
	row   *row.Row
	texts Texts
	cells []cell
	dest  []any // the cells, as database/sql takes them
	err   error // of a cell; database/sql would wrap it in words about Go

	limits scanners.Limits
	bytes  int // of the values of the row so far
}

// cell receives one column. It takes the driver's value as it is, where a *any would have it copied.
type cell struct {
	cursor  *cursor
	column  *row.Column
	dst     *row.Value
	convert Convert
}

func newCursor(p *prepared) *cursor {
	c := &cursor{limits: p.source.config.Limits, row: row.New(p.columns), cells: make([]cell, len(p.columns)), dest: make([]any, len(p.columns))}
	for i := range c.cells {
		c.cells[i] = cell{cursor: c, column: &p.columns[i], dst: &c.row.Values[i], convert: p.convert[i]}
		c.dest[i] = &c.cells[i]
	}
	return c
}

// read converts the row at which rows stands.
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
func (c *cell) Scan(src any) error {
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

// count refuses a value that is too large, or that makes the row too large.
func (c *cursor) count(cell *cell, src any) error {
	size, err := c.limits.CheckValue(cell.column.Name, src, c.bytes)
	if err != nil {
		err.Err = fmt.Errorf("%w%s", err.Err, cell.where())
		return err
	}
	c.bytes += size
	return nil
}

// fault names the column of an error, and the row unless the whole column has become another.
func (c *cell) fault(err error) error {
	if e, ok := errors.AsType[*scanners.Error](err); ok {
		return &scanners.Error{Code: e.Code, Transient: e.Transient, Hint: e.Hint, Err: fmt.Errorf("column %s: %w", c.column.Name, e.Err)}
	}
	return &scanners.Error{
		Code: scanners.CodeFailed, Hint: "correct the data, or CAST the column to what it holds",
		Err: fmt.Errorf("column %s %w%s", c.column.Name, err, c.where()),
	}
}

// where tells which row it is, by its first column where that was read already.
func (c *cell) where() string {
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
	t.buffer = append(t.buffer, b...)             // what an earlier text of the row points into stays as it is where this makes room elsewhere
	return unsafe.String(&t.buffer[from], len(b)) //nolint:gosec // a Row says how long its texts live
}
