package sqlite

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/cockroachdb/apd/v3"
	"modernc.org/sqlite"

	"tallyman/rules/row"
	"tallyman/scanners"
)

// bind turns each argument into a value that SQLite can store. Parameters have no type in SQLite, so the argument alone
// decides the form. Only times take the form of their column.
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
				var err error
				if form, err = p.formBeside(ctx, conn, name, forms[""]); err != nil {
					return nil, err
				}
			}
			bound[i] = form.bind(v.Time(), p.source.location)
		default:
			bound[i] = bindable(v)
		}
	}
	return bound, nil
}

// timeForms returns how the columns of the result write their times. Under "" it returns the form for a parameter that
// belongs to no column: the common form of all columns. If the columns differ or have no times yet, that is the form of
// datetime().
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

// formBeside returns how the columns that a parameter is compared with write their times, even if the result does not
// have these columns. formBeside returns usual if the columns have no times yet, or if there are no such columns. If
// the columns differ, formBeside returns CodeParam, because one parameter cannot be compared with all of them.
func (p *prepared) formBeside(ctx context.Context, conn *connection, name string, usual timeForm) (timeForm, error) {
	form, first := usual, ""
	for _, c := range p.beside[name] {
		f, found, err := c.form(ctx, conn)
		switch {
		case err != nil:
			return form, err
		case !found:
		case first == "":
			form, first = f, c.name
		case f.unit != form.unit || f.iso != form.iso || f.suffix != form.suffix:
			return form, scanners.ParamError(name, fmt.Errorf("is compared with %s and %s, which write their times in different forms", first, c.name),
				"write datetime(column) on both sides: datetime("+c.name+") < datetime(:"+name+"), or declare the columns")
		}
	}
	return form, nil
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

// bindableDecimal returns a whole number if the decimal is one. SQLite has no other exact numbers.
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

// timeForm is how a column writes its times. SQLite compares times as plain texts or numbers, so a parameter must be
// written in the same form. The zero timeForm is the form of datetime().
type timeForm struct {
	unit   time.Duration // of a column of integers: time.Second or time.Millisecond; 0 means text
	iso    bool          // with a T between date and time
	suffix string        // "", "Z" or "+00:00"
	digits int           // digits of a fraction; shortest = no trailing zeros; 0 = as SQLite writes it: 3, or 6 or 9 if 3 are too few
	padded bool          // whole seconds have a fraction, too
}

// shortest means a fraction without trailing zeros.
const shortest = -1

// bind writes the time. If the form shows no zone, the time is written in the zone of place.
func (f timeForm) bind(t time.Time, place *time.Location) any {
	if f.unit != 0 {
		return t.UnixMilli() / f.unit.Milliseconds()
	}
	if f.suffix == "" {
		t = t.In(place)
	}
	layout := time.DateTime
	if f.iso {
		layout = "2006-01-02T15:04:05"
	}
	return t.Format(layout) + f.fraction(t) + f.suffix
}

func (f timeForm) fraction(t time.Time) string {
	nanos := t.Nanosecond()
	if nanos == 0 && !f.padded {
		return ""
	}
	all := fmt.Sprintf(".%09d", nanos)
	needed := strings.TrimRight(all, "0")
	switch {
	case f.digits == shortest:
		return needed
	case f.digits > 0:
		return all[:1+f.digits]
	}
	for _, digits := range []int{3, 6} {
		if len(needed) <= 1+digits {
			return all[:1+digits]
		}
	}
	return all
}

// timeColumn is a column of a table that holds times.
type timeColumn struct {
	name   string // in the result
	sample string // SQL that returns some of the column's times
}

func newTimeColumn(info sqlite.ColumnInfo) timeColumn {
	column := quoted(info.OriginName)
	return timeColumn{
		name: strings.ToLower(info.Name),
		sample: fmt.Sprintf("SELECT typeof(%[1]s), CAST(%[1]s AS TEXT) FROM %[2]s.%[3]s WHERE %[1]s IS NOT NULL LIMIT 50",
			column, quoted(info.DatabaseName), quoted(info.TableName)),
	}
}

func quoted(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }

// form finds out the form from some of the column's times. The first integer decides. form returns false if the times
// have no integer and no text with seconds.
func (c timeColumn) form(ctx context.Context, conn *connection) (timeForm, bool, error) {
	rows, err := conn.sql.QueryContext(ctx, c.sample)
	if err != nil {
		return timeForm{}, false, mapError(ctx, err, scanners.CodeFailed)
	}
	defer func() { _ = rows.Close() }()
	var texts []string
	for rows.Next() {
		var storage, text string
		if err := rows.Scan(&storage, &text); err != nil {
			return timeForm{}, false, mapError(ctx, err, scanners.CodeFailed)
		}
		switch {
		case storage == "integer" && len(strings.TrimPrefix(text, "-")) >= 12:
			return timeForm{unit: time.Millisecond}, true, rows.Err()
		case storage == "integer":
			return timeForm{unit: time.Second}, true, rows.Err()
		case storage == "text":
			texts = append(texts, text)
		}
	}
	form, ok := formOf(texts)
	return form, ok, rows.Err()
}

// formOf returns the form of the texts. If the texts differ, the last text decides about iso and suffix. formOf returns
// false if no text has seconds.
func formOf(texts []string) (timeForm, bool) {
	const seconds = len(time.DateTime)
	f, found, bare := timeForm{}, false, false
	for _, text := range texts {
		if len(text) < seconds {
			continue
		}
		rest := strings.TrimLeft(strings.TrimPrefix(text[seconds:], "."), "0123456789")
		digits := len(text) - seconds - len(rest) - 1
		if digits <= 0 {
			digits, bare = 0, true
		}
		if rest == "" || rest == "Z" || rest == "+00:00" {
			f.suffix = rest
		}
		f.iso = text[10] == 'T'
		if f.digits != digits && digits > 0 {
			if f.digits == 0 {
				f.digits = digits
			} else {
				f.digits = shortest
			}
		}
		found = true
	}
	f.padded = f.digits > 0 && !bare
	return f, found
}
