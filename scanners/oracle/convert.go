package oracle

import (
	"strconv"

	ora "github.com/sijms/go-ora/v2"

	"tallyman/rules/row"
	"tallyman/scanners/sqldb"
)

// booleanName is what the driver calls BOOLEAN, for which it has no name.
var booleanName = ora.Boolean.String()

// convertInt reads the text that the driver makes of a NUMBER.
func convertInt(dst *row.Value, src any, _ *sqldb.Texts) error {
	text, ok := sqldb.TextOf(src)
	if !ok {
		return sqldb.Retyped(src, row.Int)
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return sqldb.Retyped(src, row.Int)
	}
	*dst = row.IntOf(n)
	return nil
}
