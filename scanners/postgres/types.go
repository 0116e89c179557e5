package postgres

import (
	"github.com/jackc/pgx/v5/pgtype"

	"tallyman/rules/row"
)

// The formats of the wire.
const (
	textFormat   = 0
	binaryFormat = 1
)

// decoder reads one value that is not NULL. Texts may point into src.
type decoder func(c *cursor, dst *row.Value, src []byte) error

// dataType says how a column of a type is read.
type dataType struct {
	kind   row.Kind
	format int16
	decode decoder
}

// typeOf returns how the type with that OID is read; what has no decoder of its own is read as its text.
func typeOf(oid uint32) dataType {
	switch oid {
	case pgtype.BoolOID:
		return dataType{row.Bool, binaryFormat, decodeBool}
	case pgtype.Int2OID:
		return dataType{row.Int, binaryFormat, decodeInt2}
	case pgtype.Int4OID:
		return dataType{row.Int, binaryFormat, decodeInt4}
	case pgtype.Int8OID:
		return dataType{row.Int, binaryFormat, decodeInt8}
	case pgtype.OIDOID:
		return dataType{row.Int, binaryFormat, decodeOID}
	case pgtype.Float4OID:
		return dataType{row.Float, binaryFormat, decodeFloat4}
	case pgtype.Float8OID:
		return dataType{row.Float, binaryFormat, decodeFloat8}
	case pgtype.NumericOID:
		return dataType{row.Decimal, binaryFormat, decodeNumeric}
	case pgtype.TextOID, pgtype.VarcharOID, pgtype.NameOID:
		return dataType{row.Text, binaryFormat, decodeText}
	case pgtype.BPCharOID:
		return dataType{row.Text, binaryFormat, decodeChar}
	case pgtype.ByteaOID:
		return dataType{row.Bytes, binaryFormat, decodeBytes}
	case pgtype.DateOID:
		return dataType{row.Date, binaryFormat, decodeDate}
	case pgtype.TimestampOID, pgtype.TimestamptzOID:
		return dataType{row.Time, binaryFormat, decodeTimestamp}
	case pgtype.IntervalOID:
		return dataType{row.Duration, binaryFormat, decodeInterval}
	case pgtype.UUIDOID:
		return dataType{row.Text, binaryFormat, decodeUUID}
	case pgtype.JSONOID:
		return dataType{row.JSON, binaryFormat, decodeJSON}
	case pgtype.JSONBOID:
		return dataType{row.JSON, binaryFormat, decodeJSONB}
	}
	return dataType{row.Text, textFormat, decodeText}
}
