package sqlserver

import (
	"fmt"
	"strings"
	"time"

	mssql "github.com/microsoft/go-mssqldb"

	"tallyman/rules/row"
	"tallyman/scanners"
	"tallyman/scanners/sqldb"
)

// changed is the error of a column that comes as another type than the server described.
func changed(src any, kind row.Kind) error {
	return scanners.Changed(fmt.Errorf("a column that was %s comes as a %T", kind, src))
}

func convertBool(dst *row.Value, src any, _ *sqldb.Texts) error {
	b, ok := src.(bool)
	if !ok {
		return changed(src, row.Bool)
	}
	*dst = row.BoolOf(b)
	return nil
}

func convertInt(dst *row.Value, src any, _ *sqldb.Texts) error {
	n, ok := src.(int64)
	if !ok {
		return changed(src, row.Int)
	}
	*dst = row.IntOf(n)
	return nil
}

func convertFloat(dst *row.Value, src any, _ *sqldb.Texts) error {
	switch v := src.(type) {
	case float64:
		*dst = row.FloatOf(v)
	case float32:
		*dst = row.FloatOf(float64(v))
	default:
		return changed(src, row.Float)
	}
	return nil
}

// convertDecimal reads the text that the driver makes of decimals and money.
func convertDecimal(dst *row.Value, src any, _ *sqldb.Texts) error {
	text, ok := textOf(src)
	if !ok {
		return changed(src, row.Decimal)
	}
	d, err := row.ParseDecimal(text)
	if err != nil {
		return changed(src, row.Decimal)
	}
	*dst = d
	return nil
}

// textOf is the value as a text of its own, which is valid as long as anybody wants.
func textOf(src any) (string, bool) {
	switch v := src.(type) {
	case string:
		return v, true
	case []byte:
		return string(v), true
	}
	return "", false
}

func convertText(dst *row.Value, src any, _ *sqldb.Texts) error {
	text, ok := textOf(src)
	if !ok {
		return changed(src, row.Text)
	}
	*dst = row.TextOf(text)
	return nil
}

// convertChar cuts the padding, which SQL Server does not count when it compares either.
func convertChar(dst *row.Value, src any, _ *sqldb.Texts) error {
	text, ok := textOf(src)
	if !ok {
		return changed(src, row.Text)
	}
	*dst = row.TextOf(strings.TrimRight(text, " "))
	return nil
}

func convertJSON(dst *row.Value, src any, _ *sqldb.Texts) error {
	text, ok := textOf(src)
	if !ok {
		return changed(src, row.JSON)
	}
	*dst = row.JSONOf(text)
	return nil
}

func convertBytes(dst *row.Value, src any, texts *sqldb.Texts) error {
	b, ok := src.([]byte)
	if !ok {
		return changed(src, row.Bytes)
	}
	*dst = row.BytesOf(texts.Keep(b))
	return nil
}

// convertGUID writes the form that SQL Server prints: the driver returns the bytes as they are stored, in which the first three groups
// are turned round.
func convertGUID(dst *row.Value, src any, _ *sqldb.Texts) error {
	var id mssql.UniqueIdentifier
	if err := id.Scan(src); err != nil {
		return changed(src, row.Text)
	}
	*dst = row.TextOf(id.String())
	return nil
}

func convertDate(dst *row.Value, src any, _ *sqldb.Texts) error {
	t, ok := src.(time.Time)
	if !ok {
		return changed(src, row.Date)
	}
	*dst = row.DateOf(t)
	return nil
}

// convertLocal reads a time without a zone: what its clock shows, in the source's zone.
func (d *dialect) convertLocal(dst *row.Value, src any, _ *sqldb.Texts) error {
	t, ok := src.(time.Time)
	if !ok {
		return changed(src, row.Time)
	}
	*dst = row.TimeOf(time.Date(t.Year(), t.Month(), t.Day(), t.Hour(), t.Minute(), t.Second(), t.Nanosecond(), d.location).UTC())
	return nil
}

func convertInstant(dst *row.Value, src any, _ *sqldb.Texts) error {
	t, ok := src.(time.Time)
	if !ok {
		return changed(src, row.Time)
	}
	*dst = row.TimeOf(t.UTC())
	return nil
}

func convertTimeOfDay(dst *row.Value, src any, _ *sqldb.Texts) error {
	t, ok := src.(time.Time)
	if !ok {
		return changed(src, row.Text)
	}
	*dst = row.TextOf(t.Format("15:04:05.999999999"))
	return nil
}
