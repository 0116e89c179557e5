package sqlite

import (
	"context"
	"fmt"
	"strings"
	"time"

	"modernc.org/sqlite"

	"tallyman/scanners"
)

// timeForm is how a column writes its times. SQLite compares them as the texts or numbers that they are, so a parameter
// has to be written the same way. The zero timeForm is datetime()'s.
type timeForm struct {
	unit   time.Duration // of a column of integers: time.Second or time.Millisecond; 0 = text
	iso    bool          // T between date and time
	suffix string        // "", "Z" or "+00:00"
	digits int           // of a fraction: fixed, or shortest (0 = SQLite's own 3, or more where they are needed)
	padded bool          // whole seconds have a fraction too
}

// shortest stands for a fraction without trailing zeros.
const shortest = -1

// bind writes the time.
func (f timeForm) bind(t time.Time) any {
	if f.unit != 0 {
		return t.UnixMilli() / f.unit.Milliseconds()
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

// timeColumn is a column of times of a table.
type timeColumn struct {
	name   string // in the result
	sample string // SQL that shows how it writes them
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

// form looks at some of the column's times; false where there are none, or none that tell.
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

// formOf returns how the texts are written, by their common form.
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
