package mysql

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"unsafe"

	"tallyman/rules/probe"
	"tallyman/rules/row"
	"tallyman/scanners"
	"tallyman/scanners/sqldb"
)

var errDriver = errors.New("this version of the MySQL driver does not tell the columns of a prepared statement")

// field is a column of a result, as the server describes it.
type field struct {
	name     string
	kind     byte
	flags    uint16
	length   uint32 // in bytes, or in digits
	decimals uint8
	charset  uint8
}

// Describe prepares the statement. The server then neither runs nor plans the statement.
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
		if f.kind == typeDateTime {
			columns[i].Zone = t.dialect.location
		}
		columns[i].Convert, columns[i].Most = t.dialect.converter(f, kind), int(f.length)
		if params > 0 {
			columns[i].Convert = drifting(columns[i].Convert, kind)
		}
	}
	return columns, nil
}

// fields prepares the statement on the driver's connection. The server's answer describes the columns of the result.
// But the driver reads that description only from some servers (see cacheMetadata), and does not export it.
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

// cacheMetadata is the driver's flag for servers whose answer to an EXECUTE may leave out the columns. For such servers
// the driver keeps the columns of the PREPARE. The answer to a PREPARE is the same with and without the flag.
const cacheMetadata = 1 << 4

// readColumns makes the driver keep the columns of every PREPARE until restore is called.
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

// The types of columns in the protocol.
const (
	typeTiny       = 1
	typeShort      = 2
	typeLong       = 3
	typeFloat      = 4
	typeDouble     = 5
	typeNull       = 6
	typeTimestamp  = 7
	typeLongLong   = 8
	typeInt24      = 9
	typeDate       = 10
	typeTime       = 11
	typeDateTime   = 12
	typeYear       = 13
	typeNewDate    = 14
	typeVarChar    = 15
	typeBit        = 16
	typeJSON       = 245
	typeNewDecimal = 246
	typeDecimal    = 0
	typeTinyBlob   = 249
	typeBlob       = 252 // the types from typeTinyBlob to typeBlob are blobs
	typeVarString  = 253
	typeString     = 254
	typeGeometry   = 255
	typeVector     = 242
)

// The flags of columns in the protocol.
const (
	flagNotNull  = 1 << 0
	flagUnsigned = 1 << 5
	flagEnum     = 1 << 8
	flagSet      = 1 << 11
)

const (
	binaryCharset  = 63 // the charset of a column without a character set
	bytesPerRune   = 4  // of utf8mb4, the unit of lengths
	unlimitedScale = 31 // of FLOAT and DOUBLE
)

func (f *field) unsigned() bool { return f.flags&flagUnsigned != 0 }

func (f *field) isText() bool { return f.charset != binaryCharset }

// rowKind returns the kind that conditions see.
func (f *field) rowKind() row.Kind {
	switch f.kind {
	case typeTiny:
		if f.length == 1 && !f.unsigned() { // BOOLEAN is a name for TINYINT(1)
			return row.Bool
		}
		return row.Int
	case typeShort, typeLong, typeLongLong, typeInt24, typeYear:
		return row.Int
	case typeBit:
		if f.length == 1 {
			return row.Bool
		}
		return row.Int
	case typeFloat, typeDouble:
		return row.Float
	case typeDecimal, typeNewDecimal:
		return row.Decimal
	case typeDate, typeNewDate:
		return row.Date
	case typeDateTime, typeTimestamp:
		return row.Time
	case typeTime:
		return row.Duration
	case typeJSON:
		return row.JSON
	case typeNull:
		return row.Text
	}
	if f.isText() {
		return row.Text
	}
	return row.Bytes
}

// nullable tells whether the column may be NULL. A date or a time always may be NULL, because '0000-00-00' is read as
// NULL.
func (f *field) nullable() bool {
	switch f.rowKind() {
	case row.Date, row.Time:
		return true
	default:
		return f.flags&flagNotNull == 0
	}
}

// typeName returns the type as SQL writes it.
func (f *field) typeName() string {
	name := f.baseName()
	switch f.kind {
	case typeDecimal, typeNewDecimal:
		digits := f.length
		if f.decimals > 0 {
			digits-- // the point
		}
		if !f.unsigned() && digits > 0 {
			digits-- // the sign
		}
		name += fmt.Sprintf("(%d,%d)", digits, f.decimals)
	case typeVarChar, typeVarString, typeString:
		switch {
		case f.flags&(flagEnum|flagSet) != 0:
		case f.isText():
			name += fmt.Sprintf("(%d)", f.length/bytesPerRune)
		default:
			name += fmt.Sprintf("(%d)", f.length)
		}
	case typeBit:
		name += fmt.Sprintf("(%d)", f.length)
	case typeDateTime, typeTimestamp, typeTime:
		if f.decimals > 0 && f.decimals < unlimitedScale {
			name += fmt.Sprintf("(%d)", f.decimals)
		}
	}
	if kind := f.rowKind(); f.unsigned() && kind.IsNumber() && f.kind != typeYear && f.kind != typeBit {
		name += " unsigned"
	}
	return name
}

// blobName returns BLOB or TEXT with its size. The server describes all four sizes as one type.
func (f *field) blobName() string {
	name, most := "blob", uint64(f.length)
	if f.isText() {
		name, most = "text", most/bytesPerRune
	}
	switch {
	case most <= 255:
		return "tiny" + name
	case most <= 65535:
		return name
	case most <= 16777215:
		return "medium" + name
	}
	return "long" + name
}

func (f *field) baseName() string {
	switch {
	case f.kind == typeTiny && f.rowKind() == row.Bool:
		return "tinyint(1)"
	case f.kind == typeString && f.flags&flagEnum != 0:
		return "enum"
	case f.kind == typeString && f.flags&flagSet != 0:
		return "set"
	case f.kind >= typeTinyBlob && f.kind <= typeBlob:
		return f.blobName()
	}
	name, found := typeNames[f.kind]
	if !found {
		return fmt.Sprintf("type %d", f.kind)
	}
	if binary, text, both := strings.Cut(name, "|"); both {
		if f.isText() {
			return text
		}
		return binary
	}
	return name
}

// typeNames are the names of types. In binary|text the character set decides.
var typeNames = map[byte]string{
	typeTiny: "tinyint", typeShort: "smallint", typeInt24: "mediumint", typeLong: "int", typeLongLong: "bigint", typeYear: "year",
	typeFloat: "float", typeDouble: "double", typeDecimal: "decimal", typeNewDecimal: "decimal", typeBit: "bit", typeNull: "null",
	typeDate: "date", typeNewDate: "date", typeTime: "time", typeDateTime: "datetime", typeTimestamp: "timestamp", typeJSON: "json",
	typeVarChar: "varbinary|varchar", typeVarString: "varbinary|varchar", typeString: "binary|char",
	typeGeometry: "geometry", typeVector: "vector",
}
