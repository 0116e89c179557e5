package sqlite

import (
	"errors"
	"time"

	"github.com/cockroachdb/apd/v3"

	"tallyman/rules/row"
	"tallyman/scanners"
)

// bind turns the arguments into what SQLite stores; it has no types of parameters to convert to.
func (p *prepared) bind(args map[string]any) ([]any, error) {
	values, err := scanners.Values(args, p.order)
	if err != nil {
		return nil, err
	}
	bound := make([]any, len(values))
	for i, v := range values {
		if v.Kind() == row.Duration {
			return nil, scanners.ParamError(p.order[i], errors.New("is a duration, which SQLite does not have"), "give it as a number of seconds")
		}
		bound[i] = bindable(v)
	}
	return bound, nil
}

func bindable(v row.Value) any {
	switch v.Kind() {
	case row.Null:
		return nil
	case row.Bool, row.Int:
		return v.Int()
	case row.Float:
		return v.Float()
	case row.Decimal:
		return bindableDecimal(v)
	case row.Bytes:
		return []byte(v.Text())
	case row.Time:
		return timeText(v.Time())
	case row.Date:
		return v.Time().Format(time.DateOnly)
	}
	return v.Text()
}

// bindableDecimal is a whole number where the decimal is one; SQLite has no other exact numbers.
func bindableDecimal(v row.Value) any {
	d := v.Apd(new(apd.Decimal))
	if n, err := d.Int64(); err == nil {
		return n
	}
	f, err := d.Float64()
	if err != nil {
		return v.String()
	}
	return f
}

// timeText writes a time as datetime() does; texts of that form sort by time. A fraction has as many digits as SQLite's own
// (3), or as many as it needs.
func timeText(t time.Time) string {
	switch layout := time.DateTime; {
	case t.Nanosecond() == 0:
		return t.Format(layout)
	case t.Nanosecond()%1e6 == 0:
		return t.Format(layout + ".000")
	case t.Nanosecond()%1e3 == 0:
		return t.Format(layout + ".000000")
	default:
		return t.Format(layout + ".000000000")
	}
}
