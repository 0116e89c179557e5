package scanners

import (
	"fmt"
	"strings"
)

// The default limits of a source, in bytes.
const (
	DefaultMaxCell = 1 << 20
	DefaultMaxRow  = 4 << 20
)

// Limits bound what a source reads of a row, in bytes as the database sends them. A larger value or row fails the scan
// with CodeTooLarge. If the driver allows it, the scan fails before memory is allocated for the value.
type Limits struct {
	Cell int // of one value; 0 means DefaultMaxCell
	Row  int // of all values of a row together; 0 means DefaultMaxRow
}

// WithDefaults returns the limits, with the default for each limit that is not set.
func (l Limits) WithDefaults() Limits {
	if l.Cell <= 0 {
		l.Cell = DefaultMaxCell
	}
	if l.Row <= 0 {
		l.Row = DefaultMaxRow
	}
	return l
}

// Check checks a value of size bytes. row is the size of all values before it in the same row.
func (l Limits) Check(column string, size, row int) *Error {
	switch {
	case size > l.Cell:
		return l.CellError(size, column)
	case row+size > l.Row:
		return l.RowError(row + size)
	}
	return nil
}

// CheckValue checks a value of a database/sql driver, and returns its size. Only texts and bytes have a size.
func (l Limits) CheckValue(column string, value any, row int) (size int, err *Error) {
	switch v := value.(type) {
	case []byte:
		size = len(v)
	case string:
		size = len(v)
	}
	return size, l.Check(column, size, row)
}

// CellError returns the error of a value that is too large. A size of 0 means not known. With several columns, one of
// these columns has the value. Without columns, the database does not tell which column has the value.
func (l Limits) CellError(size int, columns ...string) *Error {
	what, example := "a value of the statement, or a row that it sorts,", "a column"
	switch len(columns) {
	case 0:
	case 1:
		what, example = "column "+columns[0], columns[0]
	default:
		what = "one of the columns " + strings.Join(columns, ", ")
	}
	return tooLarge(what, size, l.Cell, "have the probe cut it, as in left("+example+", 1000), or raise the source's max_cell_bytes")
}

// RowError returns the error of a row that is too large. A size of 0 means not known.
func (l Limits) RowError(size int) *Error {
	return tooLarge("a row", size, l.Row, "select fewer or shorter columns, or raise the source's max_row_bytes")
}

func tooLarge(what string, size, most int, hint string) *Error {
	err := fmt.Errorf("%s holds more than the %d bytes that the source takes", what, most)
	if size > 0 {
		err = fmt.Errorf("%s holds %d bytes, more than the %d that the source takes", what, size, most)
	}
	return &Error{Code: CodeTooLarge, Hint: hint, Err: err}
}
