package postgres

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"

	"github.com/jackc/pgx/v5/pgproto3"

	"tallyman/scanners"
)

const (
	mostColumns  = 1664 // the most columns of a result in PostgreSQL
	headerLength = 5    // of a message: its kind, and its length without the kind
	leastMessage = 1 << 20
)

// gate stands between the network and the driver. The driver allocates memory for a whole message as soon as it has
// read the message's length. So the gate reads the length first. A message that is too long ends the connection,
// because the messages behind it cannot be reached without reading it.
type gate struct {
	from    io.Reader
	limits  scanners.Limits
	most    int // the most bytes of a message
	left    int // bytes of the present message that have not come yet
	header  [headerLength]byte
	have    int // bytes of the next message's header that have come
	refused error
}

// tooLargeError is the error of a refused message.
type tooLargeError struct {
	row    bool // the message is a row; otherwise it is a text of the server
	column int  // the column of the value that is too long, from 0; -1 means none, or not known
	size   int  // of the value, or else of the message
}

func (e *tooLargeError) Error() string {
	return fmt.Sprintf("a message of %d bytes is larger than the source accepts", e.size)
}

// newFrontend creates the driver's side of a connection. The limit leaves room for the lengths between the values of a
// row, so a row that is a little too large may pass. decode counts the bytes of the values themselves.
func newFrontend(limits scanners.Limits) func(io.Reader, io.Writer) *pgproto3.Frontend {
	most := max(limits.Row, leastMessage) + 2 + 4*mostColumns
	return func(r io.Reader, w io.Writer) *pgproto3.Frontend {
		f := pgproto3.NewFrontend(&gate{from: r, limits: limits, most: most}, w)
		f.SetMaxBodyLen(most)
		return f
	}
}

// Read is called by the driver. Read follows the messages from length to length.
func (g *gate) Read(p []byte) (int, error) {
	if g.refused != nil {
		return 0, g.refused
	}
	n, err := g.from.Read(p)
	for at := 0; at < n; {
		if g.left > 0 {
			step := min(g.left, n-at)
			g.left -= step
			at += step
			continue
		}
		took := copy(g.header[g.have:], p[at:n])
		g.have += took
		at += took
		if g.have < headerLength {
			break
		}
		g.have = 0
		g.left = int(binary.BigEndian.Uint32(g.header[1:])) - 4
		if g.left > g.most {
			g.refused = g.refuse(p[at:n])
			return at - took, g.refused
		}
	}
	return n, err
}

// refuse returns the error of a refused message. rest is the part of the message that has come. refuse reads a row up
// to the value that is too long, to name its column. If no value is too long, refuse reads the whole row.
func (g *gate) refuse(rest []byte) error {
	e := &tooLargeError{row: g.header[0] == 'D', column: -1, size: g.left}
	if !e.row {
		return e
	}
	body := io.MultiReader(bytes.NewReader(bytes.Clone(rest)), g.from)
	var buf [4]byte
	if _, err := io.ReadFull(body, buf[:2]); err != nil {
		return e
	}
	columns := int(binary.BigEndian.Uint16(buf[:2]))
	for i := range columns {
		if _, err := io.ReadFull(body, buf[:]); err != nil {
			return e
		}
		size := int(int32(binary.BigEndian.Uint32(buf[:]))) //nolint:gosec // -1 is NULL
		if size > g.limits.Cell {
			e.column, e.size = i, size
			return e
		}
		if _, err := io.CopyN(io.Discard, body, int64(max(size, 0))); err != nil {
			return e
		}
	}
	e.size -= 2 + 4*columns
	return e
}
