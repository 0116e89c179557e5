package oracle

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	ora "github.com/sijms/go-ora/v2"

	"tallyman/rules/row"
	"tallyman/scanners"
	"tallyman/scanners/sqldb"
)

// booleanName is what the driver calls BOOLEAN, for which it has no name.
var booleanName = ora.Boolean.String()

// changed is the error of a column that comes as another type than was described.
func changed(src any, kind row.Kind) error {
	return scanners.Changed(fmt.Errorf("a column that was %s comes as a %T", kind, src))
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

func convertBool(dst *row.Value, src any, _ *sqldb.Texts) error {
	b, ok := src.(bool)
	if !ok {
		return changed(src, row.Bool)
	}
	*dst = row.BoolOf(b)
	return nil
}

// convertInt reads the text that the driver makes of a NUMBER.
func convertInt(dst *row.Value, src any, _ *sqldb.Texts) error {
	text, ok := textOf(src)
	if !ok {
		return changed(src, row.Int)
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return changed(src, row.Int)
	}
	*dst = row.IntOf(n)
	return nil
}

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

func convertText(dst *row.Value, src any, _ *sqldb.Texts) error {
	text, ok := textOf(src)
	if !ok {
		return changed(src, row.Text)
	}
	*dst = row.TextOf(text)
	return nil
}

// convertChar cuts the padding, which Oracle does not count when it compares CHARs either.
func convertChar(dst *row.Value, src any, _ *sqldb.Texts) error {
	text, ok := textOf(src)
	if !ok {
		return changed(src, row.Text)
	}
	*dst = row.TextOf(strings.TrimRight(text, " "))
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

// convertLocal reads a time without a zone: what its clock shows, in the source's zone. The driver says that it is in the server's.
func (d *dialect) convertLocal(dst *row.Value, src any, _ *sqldb.Texts) error {
	t, ok := src.(time.Time)
	if !ok {
		return changed(src, row.Time)
	}
	*dst = row.TimeOf(clock(t, d.location).UTC())
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
