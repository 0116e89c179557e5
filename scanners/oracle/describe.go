package oracle

import (
	"context"
	"database/sql"
	"fmt"
	"strings"

	"tallyman/rules/probe"
	"tallyman/rules/row"
	"tallyman/scanners"
	"tallyman/scanners/sqldb"
)

// Describe asks for no rows of the statement. Its parameters are NULL, since they have no values yet.
func (t *transaction) Describe(ctx context.Context, stmt *probe.Statement, text string) ([]sqldb.Column, error) {
	if err := sqldb.Refuse(stmt, probe.Oracle(stmt.Text)); err != nil {
		return nil, err
	}
	_, order := stmt.Render(probe.Numbered)
	rows, free, err := t.Query(ctx, "SELECT * FROM (\n"+text+"\n) WHERE 1 = 0", make([]any, len(order)))
	if err != nil {
		return nil, err
	}
	defer free()
	defer func() { _ = rows.Close() }()
	types, err := rows.ColumnTypes()
	if err != nil {
		return nil, err
	}
	var columns []sqldb.Column
	for _, ct := range types {
		c, err := t.dialect.column(ct, stmt.NullExtended)
		if err != nil {
			return nil, err
		}
		columns = append(columns, c)
	}
	return columns, rows.Err()
}

// wholeDigits is how many digits an int64 holds of any number.
const wholeDigits = 18

// column says how the column is read, by the driver's name for its type.
func (d *dialect) column(ct *sql.ColumnType, nullExtended bool) (sqldb.Column, error) {
	nullable, told := ct.Nullable()
	name := ct.DatabaseTypeName()
	c := sqldb.Column{Column: row.Column{Name: ct.Name(), DBType: name, Nullable: nullable || !told || nullExtended}}
	set := func(kind row.Kind, dbType string, convert sqldb.Convert) (sqldb.Column, error) {
		c.Kind, c.DBType, c.Convert = kind, dbType, convert
		return c, nil
	}
	switch name {
	case "NUMBER":
		precision, scale, _ := ct.DecimalSize()
		switch {
		case scale == 0 && precision > 0 && precision <= wholeDigits:
			return set(row.Int, fmt.Sprintf("NUMBER(%d)", precision), convertInt)
		case scale > 127: // as it comes, or FLOAT
			return set(row.Decimal, "NUMBER", sqldb.ToDecimal)
		}
		return set(row.Decimal, fmt.Sprintf("NUMBER(%d,%d)", precision, scale), sqldb.ToDecimal)
	case "IBFloat", "BFloat":
		return set(row.Float, "BINARY_FLOAT", sqldb.ToFloat)
	case "IBDouble", "BDouble":
		return set(row.Float, "BINARY_DOUBLE", sqldb.ToFloat)
	case "NCHAR", "VARCHAR": // NCHAR is the driver's name for VARCHAR2 and NVARCHAR2
		return set(row.Text, "VARCHAR2", sqldb.ToText)
	case "CHAR", "CHARZ":
		return set(row.Text, "CHAR", sqldb.ToChar)
	case "LONG", "LongVarChar":
		return set(row.Text, "LONG", sqldb.ToText)
	case "OCIClobLocator":
		return set(row.Text, "CLOB", sqldb.ToText)
	case "ROWID", "UROWID":
		return set(row.Text, name, sqldb.ToText)
	case "RAW", "VarRaw":
		return set(row.Bytes, "RAW", sqldb.ToBytes)
	case "LongRaw", "LongVarRaw":
		return set(row.Bytes, "LONG RAW", sqldb.ToBytes)
	case "OCIBlobLocator":
		return set(row.Bytes, "BLOB", sqldb.ToBytes)
	case "DATE", "OCIDate":
		return set(row.Time, "DATE", sqldb.ToLocal(d.location))
	case "TIMESTAMP", "TimeStampDTY":
		return set(row.Time, "TIMESTAMP", sqldb.ToLocal(d.location))
	case "TimeStampTZ", "TimeStampTZ_DTY":
		return set(row.Time, "TIMESTAMP WITH TIME ZONE", sqldb.ToInstant)
	case "TimeStampeLTZ", "TimeStampLTZ_DTY":
		return set(row.Time, "TIMESTAMP WITH LOCAL TIME ZONE", sqldb.ToInstant)
	case "IntervalDS", "IntervalDS_DTY":
		return set(row.Text, "INTERVAL DAY TO SECOND", sqldb.ToText)
	case "IntervalYM", "IntervalYM_DTY":
		return set(row.Text, "INTERVAL YEAR TO MONTH", sqldb.ToText)
	case booleanName:
		return set(row.Bool, "BOOLEAN", sqldb.ToBool)
	}
	return c, &scanners.Error{
		Code: scanners.CodeColumn, Hint: "CAST it to what it holds, or write JSON_SERIALIZE(…) or XMLSERIALIZE(…)",
		Err: fmt.Errorf("column %s: conditions have nothing for the type %s", strings.ToLower(ct.Name()), name),
	}
}
