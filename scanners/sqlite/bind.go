package sqlite

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/cockroachdb/apd/v3"

	"tallyman/rules/row"
	"tallyman/scanners"
)

// bind turns the arguments into what SQLite stores; it has no types of parameters to convert to.
func (p *prepared) bind(ctx context.Context, conn *connection, values []row.Value) ([]any, error) {
	var forms map[string]timeForm
	bound := make([]any, len(values))
	for i, v := range values {
		name := p.order[i]
		switch v.Kind() {
		case row.Duration:
			return nil, scanners.ParamError(name, errors.New("is a duration, which SQLite does not have"), "give it as a number of seconds")
		case row.Time:
			if forms == nil {
				var err error
				if forms, err = p.timeForms(ctx, conn); err != nil {
					return nil, err
				}
			}
			form, found := forms[strings.ToLower(strings.TrimPrefix(name, "wm_"))]
			if !found {
				form = forms[""]
			}
			bound[i] = form.bind(v.Time())
		default:
			bound[i] = bindable(v)
		}
	}
	return bound, nil
}

// timeForms returns how the columns of the result write their times, and under "" how all of them do: the form for a
// parameter that belongs to no column. Where they differ, or have no times yet, that is datetime()'s.
func (p *prepared) timeForms(ctx context.Context, conn *connection) (map[string]timeForm, error) {
	forms := map[string]timeForm{}
	var common []timeForm
	for _, c := range p.times {
		form, found, err := c.form(ctx, conn)
		if err != nil {
			return nil, err
		}
		if found {
			forms[c.name] = form
			common = append(common, form)
		}
	}
	for i, form := range common {
		if i == 0 {
			forms[""] = form
		} else if form.unit != forms[""].unit || form.iso != forms[""].iso || form.suffix != forms[""].suffix {
			forms[""] = timeForm{}
			break
		}
	}
	return forms, nil
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
	case row.Date:
		return v.Time().Format(time.DateOnly)
	default:
		return v.Text()
	}
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
