package row

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/cockroachdb/apd/v3"
)

// Form says how a column writes values of another kind than its own: times as texts, days as numbers, truth as 0 and 1. Read and
// Write are each other's inverse. The zero Form is none.
type Form struct {
	Kind   Kind           // what conditions see
	Layout string         // of Time and Date, as for time.Parse; "" = the column's values are times already, or a Unit
	Unit   time.Duration  // of a number since 1970: time.Second or time.Millisecond; 0 = none
	Zone   *time.Location // of a Time without zone
}

// Fit tells whether the form can read a column as the database describes it. The error says what the column is, with a verb.
func (f Form) Fit(c Column) error {
	kinds := []Kind{Text, Int, Decimal}
	switch {
	case c.Kind == JSON: // a kind that shows with the rows only
		return nil
	case f.Kind == Bool:
		kinds = append(kinds, Bool)
	case f.Kind == Decimal:
		kinds = append(kinds, Float)
	case f.Unit > 0:
		kinds = kinds[1:]
	case f.Layout == "" && c.Kind == Time && c.Zone == nil:
		return fmt.Errorf("is a %s, whose values have a zone, or may have one", c.DBType)
	case f.Layout == "":
		kinds = []Kind{Time}
	}
	if !slices.Contains(kinds, c.Kind) {
		return fmt.Errorf("is of kind %s, which is not read as a %s", c.Kind, f)
	}
	return nil
}

// Read makes a value of the form's kind of one that the column holds. NULL stays NULL.
func (f Form) Read(v Value, c *Column) (Value, error) {
	read, ok := Value{}, v.IsNull()
	switch {
	case v.IsNull():
	case f.Kind == Bool:
		read, ok = readBool(v)
	case f.Kind == Decimal:
		read, ok = readDecimal(v)
	case f.Unit > 0:
		n, err := v.number().Int64()
		read, ok = TimeOf(time.Unix(n/int64(time.Second/f.Unit), n%int64(time.Second/f.Unit)*int64(f.Unit))), err == nil && v.kind.IsNumber()
		ok = ok && withinYears(read.Time())
	case f.Layout == "" && v.kind == Time && c.Zone != nil:
		read, ok = TimeOf(At(v.Time().In(c.Zone), f.Zone)), true
	case f.Layout != "" && (v.kind == Text || v.kind.IsNumber()):
		t, err := time.ParseInLocation(f.Layout, v.String(), f.zone())
		if ok = err == nil; f.Kind == Date {
			read = DateOf(t)
		} else {
			read = TimeOf(t)
		}
	}
	if !ok {
		return read, fmt.Errorf("holds %q, which is no %s", shorten(v.String()), f)
	}
	return read, nil
}

// Write makes of a value what the column compares it with. What is no value of the form's kind stays as it is: the watermark of a time before
// the column had a form.
func (f Form) Write(v Value, c *Column) Value {
	isTime := v.kind == Time || v.kind == Date
	switch {
	case !isTime:
		return v
	case f.Unit > 0:
		return IntOf(floor(v.Time(), f.Unit))
	case f.Layout == "" && c.Zone != nil:
		return TimeOf(At(v.Time().In(f.zone()), c.Zone))
	case f.Layout == "":
		return v
	case v.kind == Date:
		return TextOf(v.Time().Format(f.Layout))
	}
	return TextOf(v.Time().In(f.zone()).Format(f.Layout))
}

// Keeps tells whether Write gives the value back as the column holds it: a fraction of a second that the layout leaves out is lost.
func (f Form) Keeps(v Value) bool {
	if f.Layout == "" || v.IsNull() {
		return true
	}
	t, err := time.Parse(f.Layout, v.String()) // in UTC, whose clock leaves no hour out
	return err == nil && t.Format(f.Layout) == v.String()
}

// Sorts tells whether later times are greater in the form, so that a database can compare them. A form with a zone does not sort, since
// another zone's clock shows another text.
func (f Form) Sorts() bool {
	if f.Layout == "" {
		return f.Kind == Time || f.Unit > 0
	}
	if zoned.MatchString(f.Layout) {
		return false
	}
	last := ""
	for _, t := range sortSamples {
		text := t.Format(f.Layout)
		if text < last {
			return false
		}
		last = text
	}
	return true
}

// zoned finds an offset, or the name of a zone, in a layout.
var zoned = regexp.MustCompile(`[-+Z]07|MST`)

// sortSamples grow, each by what a text may get wrong: a digit more, the afternoon, a name of a month or of a day, a fraction.
var sortSamples = func() (times []time.Time) {
	for _, s := range []string{
		"1999-12-31T23:59:59", "2000-01-01T00:00:00", "2026-03-31T00:00:00", "2026-04-01T00:00:00", "2026-08-09T00:00:00", "2026-08-10T00:00:00",
		"2026-09-01T09:00:00", "2026-09-01T10:00:00", "2026-09-01T12:59:00", "2026-09-01T13:00:00", "2026-09-01T13:09:09", "2026-09-01T13:10:00",
		"2026-09-01T13:10:09", "2026-09-01T13:10:10", "2026-09-01T13:10:10.09", "2026-09-01T13:10:10.1", "2026-09-01T13:10:10.1234567", "2026-09-01T13:10:11", "2026-10-01T00:00:00",
	} {
		t, err := time.Parse("2006-01-02T15:04:05", s)
		if err != nil {
			panic(err)
		}
		times = append(times, t)
	}
	return times
}()

// String says what a value is in the form.
func (f Form) String() string {
	switch {
	case f.Unit == time.Second:
		return "number of Unix seconds"
	case f.Unit == time.Millisecond:
		return "number of Unix milliseconds"
	case f.Layout != "":
		return f.Kind.String() + " as " + strconv.Quote(f.Layout)
	}
	return f.Kind.String()
}

func (f Form) zone() *time.Location {
	if f.Zone == nil {
		return time.UTC
	}
	return f.Zone
}

// floor counts the units since 1970 that are over at t.
func floor(t time.Time, unit time.Duration) int64 {
	if unit == time.Second {
		return t.Unix()
	}
	return t.UnixMilli()
}

func withinYears(t time.Time) bool { return t.Year() >= 1 && t.Year() <= 9999 }

// number is the value as a number; NaN where it is none.
func (v Value) number() *apd.Decimal {
	if !v.kind.IsNumber() {
		return &apd.Decimal{Form: apd.NaN}
	}
	return v.Apd(new(apd.Decimal))
}

func readBool(v Value) (Value, bool) {
	switch strings.ToLower(v.String()) {
	case "0", "false", "f", "no", "n":
		return BoolOf(false), true
	case "1", "true", "t", "yes", "y":
		return BoolOf(true), true
	}
	return Value{}, false
}

func readDecimal(v Value) (Value, bool) {
	if v.kind == Decimal {
		return v, true
	}
	d, err := ParseDecimal(strings.TrimSpace(v.String()))
	return d, err == nil && v.kind != Bool
}

func shorten(s string) string {
	const most = 60
	if r := []rune(s); len(r) > most {
		return string(r[:most]) + "…"
	}
	return s
}
