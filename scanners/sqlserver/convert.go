package sqlserver

import (
	"time"

	mssql "github.com/microsoft/go-mssqldb"

	"tallyman/rules/row"
	"tallyman/scanners/sqldb"
)

func convertJSON(dst *row.Value, src any, _ *sqldb.Texts) error {
	text, ok := sqldb.TextOf(src)
	if !ok {
		return sqldb.Retyped(src, row.JSON)
	}
	*dst = row.JSONOf(text)
	return nil
}

// convertGUID writes the form that SQL Server prints: the driver returns the bytes as they are stored, in which the first three groups
// are turned round.
func convertGUID(dst *row.Value, src any, _ *sqldb.Texts) error {
	var id mssql.UniqueIdentifier
	if err := id.Scan(src); err != nil {
		return sqldb.Retyped(src, row.Text)
	}
	*dst = row.TextOf(id.String())
	return nil
}

func convertDate(dst *row.Value, src any, _ *sqldb.Texts) error {
	t, ok := src.(time.Time)
	if !ok {
		return sqldb.Retyped(src, row.Date)
	}
	*dst = row.DateOf(t)
	return nil
}

func convertTimeOfDay(dst *row.Value, src any, _ *sqldb.Texts) error {
	t, ok := src.(time.Time)
	if !ok {
		return sqldb.Retyped(src, row.Text)
	}
	*dst = row.TextOf(t.Format("15:04:05.999999999"))
	return nil
}
