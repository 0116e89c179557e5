package postgres

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// copyRows collects rows in the binary form of COPY. pgx's own CopyFrom would box every value and ask the
// server for the types of the columns each time.
type copyRows struct {
	buf []byte
	n   int64
}

var (
	copyHeader  = []byte("PGCOPY\n\xff\r\n\x00\x00\x00\x00\x00\x00\x00\x00\x00")
	copyTrailer = []byte{0xff, 0xff}
)

// newCopyRows makes room for about size bytes.
func newCopyRows(size int) *copyRows {
	return &copyRows{buf: append(make([]byte, 0, size+len(copyHeader)+len(copyTrailer)), copyHeader...)}
}

// row begins a row of so many columns.
func (c *copyRows) row(columns uint16) {
	c.buf = binary.BigEndian.AppendUint16(c.buf, columns)
	c.n++
}

func (c *copyRows) int16(v int16) {
	c.length(2)
	c.buf = binary.BigEndian.AppendUint16(c.buf, uint16(v)) //nolint:gosec // two's complement is what COPY wants
}

func (c *copyRows) int32(v int32) {
	c.length(4)
	c.buf = binary.BigEndian.AppendUint32(c.buf, uint32(v)) //nolint:gosec // two's complement is what COPY wants
}

// id is a column of ids of lanes, queues or scopes, which the database numbers as int32.
func (c *copyRows) id(v int64) { c.int32(int32(v)) } //nolint:gosec // it came from such a column

func (c *copyRows) int64(v int64) {
	c.length(8)
	c.buf = binary.BigEndian.AppendUint64(c.buf, uint64(v)) //nolint:gosec // two's complement is what COPY wants
}

func (c *copyRows) text(s string) {
	c.length(len(s))
	c.buf = append(c.buf, s...)
}

func (c *copyRows) bytes(b []byte) {
	c.length(len(b))
	c.buf = append(c.buf, b...)
}

func (c *copyRows) null() {
	c.buf = append(c.buf, 0xff, 0xff, 0xff, 0xff)
}

func (c *copyRows) length(n int) {
	c.buf = binary.BigEndian.AppendUint32(c.buf, uint32(n)) //nolint:gosec // a column is far below 2 GB
}

// run sends the rows with the query by name, within the connection's transaction.
func (c *copyRows) run(ctx context.Context, conn *pgx.Conn, name string) error {
	if c.n == 0 {
		return nil
	}
	tag, err := conn.PgConn().CopyFrom(ctx, bytes.NewReader(append(c.buf, copyTrailer...)), queries.Get(name))
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	if tag.RowsAffected() != c.n {
		return fmt.Errorf("%s: %d of %d rows were written", name, tag.RowsAffected(), c.n)
	}
	return nil
}
