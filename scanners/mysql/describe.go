package mysql

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"reflect"
	"unsafe"

	"tallyman/rules/probe"
	"tallyman/rules/row"
	"tallyman/scanners"
	"tallyman/scanners/sqldb"
)

var errDriver = errors.New("this version of the MySQL driver does not tell the columns of a prepared statement")

// field is a column of a result as the server describes it.
type field struct {
	name     string
	kind     byte
	flags    uint16
	length   uint32 // in bytes, or digits
	decimals uint8
	charset  uint8
}

// Describe prepares the statement, which neither runs it nor plans it.
func (t *transaction) Describe(ctx context.Context, stmt *probe.Statement, sql string) ([]sqldb.Column, error) {
	if err := sqldb.Refuse(stmt, probe.MySQL(stmt.Text)); err != nil {
		return nil, err
	}
	if err := t.functions(ctx, stmt); err != nil {
		return nil, err
	}
	fields, params, err := t.fields(ctx, sql)
	if err != nil {
		return nil, t.dialect.prepareError(err, stmt, sql)
	}
	if _, order := stmt.Render(t.dialect.Style()); params != len(order) {
		return nil, &scanners.Error{
			Code: scanners.CodeStatement,
			Err:  fmt.Errorf("the statement has %d parameters, the database sees %d", len(order), params),
		}
	}
	columns := make([]sqldb.Column, len(fields))
	for i, f := range fields {
		kind := f.rowKind()
		columns[i].Column = row.Column{Name: f.name, Kind: kind, DBType: f.typeName(), Nullable: stmt.NullExtended || f.nullable()}
		columns[i].Convert, columns[i].Most = t.dialect.converter(f, kind), int(f.length)
		if params > 0 {
			columns[i].Convert = drifting(columns[i].Convert, kind)
		}
	}
	return columns, nil
}

// fields prepares the statement on the driver's connection. The server describes the columns of the result in its answer; the
// driver reads that only from servers that may leave it out later, and keeps it to itself.
func (t *transaction) fields(ctx context.Context, sql string) (fields []field, params int, err error) {
	err = t.conn.Raw(func(driverConn any) error {
		restore, err := readColumns(driverConn)
		if err != nil {
			return err
		}
		defer restore()
		preparer, ok := driverConn.(driver.ConnPrepareContext)
		if !ok {
			return errDriver
		}
		stmt, err := preparer.PrepareContext(ctx, sql)
		if err != nil {
			return err
		}
		defer func() { _ = stmt.Close() }()
		params = stmt.NumInput()
		fields, err = fieldsOf(stmt)
		return err
	})
	return fields, params, err
}

// cacheMetadata is the driver's flag for a server whose answer to an EXECUTE may leave out the columns, so that those of
// the PREPARE have to be kept. The answer to a PREPARE is the same with and without it.
const cacheMetadata = 1 << 4

// readColumns makes the driver keep what the answers to PREPARE say, until restore.
func readColumns(driverConn any) (restore func(), err error) {
	flags := reflect.Indirect(reflect.ValueOf(driverConn)).FieldByName("extCapabilities")
	if flags.Kind() != reflect.Uint32 || !flags.CanAddr() {
		return nil, errDriver
	}
	address := (*uint32)(unsafe.Pointer(flags.UnsafeAddr())) //nolint:gosec // checked above, and by a test of this version
	before := *address
	*address |= cacheMetadata
	return func() { *address = before }, nil
}

func fieldsOf(stmt driver.Stmt) ([]field, error) {
	columns := reflect.Indirect(reflect.ValueOf(stmt)).FieldByName("columns")
	if columns.Kind() != reflect.Slice {
		return nil, errDriver
	}
	fields := make([]field, columns.Len())
	for i := range fields {
		c := columns.Index(i)
		name, kind, flags := c.FieldByName("name"), c.FieldByName("fieldType"), c.FieldByName("flags")
		length, decimals, charset := c.FieldByName("length"), c.FieldByName("decimals"), c.FieldByName("charSet")
		if name.Kind() != reflect.String || !kind.CanUint() || !flags.CanUint() || !length.CanUint() || !decimals.CanUint() || !charset.CanUint() {
			return nil, errDriver
		}
		fields[i] = field{
			name: name.String(), kind: byte(kind.Uint()), flags: uint16(flags.Uint()), length: uint32(length.Uint()), //nolint:gosec // as wide as the driver's
			decimals: uint8(decimals.Uint()), charset: uint8(charset.Uint()), //nolint:gosec // as wide as the driver's
		}
	}
	return fields, nil
}
