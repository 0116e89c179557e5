package mysql

import (
	"errors"
	"strconv"

	"github.com/cockroachdb/apd/v3"

	"tallyman/rules/row"
	"tallyman/scanners"
	"tallyman/scanners/sqldb"
)

// drifting is convert for a statement with parameters, of which an expression may take its type: the server had to guess it when
// there were no values. A number that is one of the column's kind all the same is taken as that.
func drifting(convert sqldb.Convert, kind row.Kind) sqldb.Convert {
	return func(dst *row.Value, src any, texts *sqldb.Texts) error {
		err := convert(dst, src, texts)
		if e, ok := errors.AsType[*scanners.Error](err); !ok || e.Code != scanners.CodeChanged {
			return err
		}
		if drifted(dst, src, kind) {
			return nil
		}
		return &scanners.Error{
			Code: scanners.CodeFailed, Hint: "its type depends on the value of a parameter: write CAST(:name AS SIGNED), DECIMAL(20,6), DOUBLE, CHAR or DATETIME(6)",
			Err: misfit(src, kind),
		}
	}
}

// drifted makes a number of another form one of the kind, where it is exactly that.
func drifted(dst *row.Value, src any, kind row.Kind) bool {
	var text string
	switch v := src.(type) {
	case []byte:
		text = string(v)
	case float64:
		text = strconv.FormatFloat(v, 'f', -1, 64)
	case float32:
		text = strconv.FormatFloat(float64(v), 'f', -1, 64)
	default:
		return false
	}
	switch kind {
	case row.Float:
		f, err := strconv.ParseFloat(text, 64)
		*dst = row.FloatOf(f)
		return err == nil
	case row.Decimal:
		d, err := row.ParseDecimal(text)
		*dst = d
		return err == nil
	case row.Int:
		d, err := row.ParseDecimal(text)
		if err != nil {
			return false
		}
		n, err := d.Apd(new(apd.Decimal)).Int64()
		*dst = row.IntOf(n)
		return err == nil
	default:
		return false
	}
}
