package sqlserver

import (
	"context"
	"database/sql"
	_ "embed"
	"fmt"
	"strings"

	"tallyman/rules/probe"
	"tallyman/rules/row"
	"tallyman/scanners"
	"tallyman/scanners/sqldb"
)

//go:embed describe.sql
var describeSQL string

// Describe has the server compile the statement.
func (t *transaction) Describe(ctx context.Context, stmt *probe.Statement, text string) ([]sqldb.Column, error) {
	if err := sqldb.Refuse(stmt, probe.SQLServer(stmt.Text)); err != nil {
		return nil, err
	}
	rows, free, err := t.Query(ctx, describeSQL, []any{text, parameterTypes(stmt)})
	if err != nil {
		return nil, err
	}
	defer free()
	defer func() { _ = rows.Close() }()
	names, err := rows.Columns()
	if err != nil {
		return nil, err
	}
	var columns []sqldb.Column
	for rows.Next() {
		var f field
		dest := make([]any, len(names))
		for i, name := range names {
			dest[i] = f.at(name)
		}
		if err := rows.Scan(dest...); err != nil {
			return nil, err
		}
		if f.hidden {
			continue
		}
		c, err := t.dialect.column(&f)
		if err != nil {
			return nil, err
		}
		columns = append(columns, c)
	}
	return columns, rows.Err()
}

// parameterTypes declares the parameters for the description: built-in times as what they are sent as, all others as texts, which
// the server reads as anything.
func parameterTypes(stmt *probe.Statement) string {
	_, order := stmt.Render(probe.At)
	var types []string
	for i, name := range order {
		kind := "nvarchar(4000)"
		if stmt.Times[name] {
			kind = "datetime2"
		}
		types = append(types, fmt.Sprintf("@p%d %s", i+1, kind))
	}
	return strings.Join(types, ", ")
}

// field is a column as sp_describe_first_result_set has it.
type field struct {
	hidden   bool
	name     sql.NullString
	nullable bool
	typeName sql.NullString
}

// at returns where the procedure's column of that name goes.
func (f *field) at(name string) any {
	switch name {
	case "is_hidden":
		return &f.hidden
	case "name":
		return &f.name
	case "is_nullable":
		return &f.nullable
	case "system_type_name":
		return &f.typeName
	}
	return new(any)
}

// column says how the column is read. The server knows itself where an outer join makes a NOT NULL column nullable.
func (d *dialect) column(f *field) (sqldb.Column, error) {
	base, _, _ := strings.Cut(f.typeName.String, "(")
	c := sqldb.Column{Column: row.Column{Name: f.name.String, DBType: f.typeName.String, Nullable: f.nullable}}
	switch base {
	case "bit":
		c.Kind, c.Convert = row.Bool, sqldb.ToBool
	case "tinyint", "smallint", "int", "bigint":
		c.Kind, c.Convert = row.Int, sqldb.ToInt
	case "real", "float":
		c.Kind, c.Convert = row.Float, sqldb.ToFloat
	case "decimal", "numeric", "money", "smallmoney":
		c.Kind, c.Convert = row.Decimal, sqldb.ToDecimal
	case "char", "nchar":
		c.Kind, c.Convert = row.Text, sqldb.ToChar
	case "varchar", "nvarchar", "text", "ntext", "xml", "sysname":
		c.Kind, c.Convert = row.Text, sqldb.ToText
	case "binary", "varbinary", "image", "timestamp", "rowversion":
		c.Kind, c.Convert = row.Bytes, sqldb.ToBytes
	case "date":
		c.Kind, c.Convert = row.Date, convertDate
	case "datetime", "datetime2", "smalldatetime":
		c.Kind, c.Convert = row.Time, sqldb.ToLocal(d.location)
	case "datetimeoffset":
		c.Kind, c.Convert = row.Time, sqldb.ToInstant
	case "time":
		c.Kind, c.Convert = row.Text, convertTimeOfDay
	case "uniqueidentifier":
		c.Kind, c.Convert = row.Text, convertGUID
	case "json":
		c.Kind, c.Convert = row.JSON, convertJSON
	default:
		return c, &scanners.Error{
			Code: scanners.CodeColumn, Hint: "CAST it to what it holds",
			Err: fmt.Errorf("column %s: conditions have nothing for the type %s", f.name.String, f.typeName.String),
		}
	}
	return c, nil
}
