package mysql

import (
	"fmt"
	"strings"

	"tallyman/rules/row"
)

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
	typeBlob       = 252 // and those between
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
	binaryCharset  = 63 // of what has no character set
	bytesPerRune   = 4  // of utf8mb4, in which lengths are counted
	unlimitedScale = 31 // of FLOAT and DOUBLE
)

func (f *field) unsigned() bool { return f.flags&flagUnsigned != 0 }

func (f *field) isText() bool { return f.charset != binaryCharset }

// rowKind is what conditions see of the column.
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

// nullable tells whether the column may be NULL. A date always may, since '0000-00-00' is.
func (f *field) nullable() bool {
	switch f.rowKind() {
	case row.Date, row.Time:
		return true
	default:
		return f.flags&flagNotNull == 0
	}
}

// typeName is the type as SQL has it.
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

// blobName is BLOB or TEXT with its size. The server describes all four sizes as the same type.
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

// typeNames holds the names of types; binary|text where the character set decides.
var typeNames = map[byte]string{
	typeTiny: "tinyint", typeShort: "smallint", typeInt24: "mediumint", typeLong: "int", typeLongLong: "bigint", typeYear: "year",
	typeFloat: "float", typeDouble: "double", typeDecimal: "decimal", typeNewDecimal: "decimal", typeBit: "bit", typeNull: "null",
	typeDate: "date", typeNewDate: "date", typeTime: "time", typeDateTime: "datetime", typeTimestamp: "timestamp", typeJSON: "json",
	typeVarChar: "varbinary|varchar", typeVarString: "varbinary|varchar", typeString: "binary|char",
	typeGeometry: "geometry", typeVector: "vector",
}
