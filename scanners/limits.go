package scanners

import (
	"fmt"
	"strings"
)

// The limits of a source that names none, in bytes.
const (
	DefaultMaxCell = 1 << 20
	DefaultMaxRow  = 4 << 20
)

// Limits bound what a source takes of a row, in bytes as the database sends them. What is longer fails the scan with CodeTooLarge,
// before memory is taken for the value wherever the driver allows that.
type Limits struct {
	Cell int // of one value; 0 = DefaultMaxCell
	Row  int // of all values of a row together; 0 = DefaultMaxRow
}

// WithDefaults puts the defaults where nothing is said.
func (l Limits) WithDefaults() Limits {
	if l.Cell <= 0 {
		l.Cell = DefaultMaxCell
	}
	if l.Row <= 0 {
		l.Row = DefaultMaxRow
	}
	return l
}

// Check counts a value of size bytes that comes behind others of the row, which have so many bytes together.
func (l Limits) Check(column string, size, row int) *Error {
	switch {
	case size > l.Cell:
		return l.CellError(size, column)
	case row+size > l.Row:
		return l.RowError(row + size)
	}
	return nil
}

// CheckValue is Check of a value as drivers of database/sql give values, and returns the size. Only texts and bytes have one.
func (l Limits) CheckValue(column string, value any, row int) (size int, err *Error) {
	switch v := value.(type) {
	case []byte:
		size = len(v)
	case string:
		size = len(v)
	}
	return size, l.Check(column, size, row)
}

// CellError says that a value is too large. A size of 0 is not known. More than one column means that the value is in one of them,
// none that the database does not tell in which.
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

// RowError says that a row is too large. A size of 0 is not known.
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
