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

// Form says how a column writes its values, where the database declares another kind: times as texts, days as numbers,
// true and false as 1 and 0. Read reads a value in the form. For times and dates, Write is the inverse of Read (see
// Keeps). The zero Form means that the column has no form.
type Form struct {
	Kind   Kind           // The kind that conditions see.
	Layout string         // For Time and Date, as for time.Parse. Empty: the values are times, or Unit is set.
	Unit   time.Duration  // For a number since 1970: time.Second or time.Millisecond, else 0.
	Zone   *time.Location // For a Time without a zone.
}

// Fit returns an error where the form cannot read the column. The error text begins with a verb and has no subject, so
// that the caller can put the column before it.
func (f Form) Fit(c Column) error {
	kinds := []Kind{Text, Int, Decimal}
	switch {
	case c.Kind == JSON: // the kind of the values shows only with the rows
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

// Read converts a value of the column to the form's kind. NULL stays NULL.
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

// Write converts a time or a date to the form of the column, so that the SQL can compare it with the column. Any other
// value stays as it is. Such a value can be a watermark from a time before the column had a form.
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

// Keeps tells whether Read and Write together give the same value again. A fraction of a second that the layout does
// not have is lost.
func (f Form) Keeps(v Value) bool {
	if f.Layout == "" || v.IsNull() {
		return true
	}
	t, err := time.Parse(f.Layout, v.String()) // in UTC, because the clock of other zones skips hours
	return err == nil && t.Format(f.Layout) == v.String()
}

// Sorts tells whether a later time is always greater in the form, so that a database can compare the values. A layout
// with a zone does not sort, because the clocks of two zones show different texts for one instant.
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

// zoned matches an offset or the name of a zone in a layout.
var zoned = regexp.MustCompile(`[-+Z]07|MST`)

// sortSamples are times in growing order. At each step some layouts go wrong: at one more digit, at the afternoon, at
// the name of a month or of a day, or at a fraction.
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

// String describes a value in the form, for messages.
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

// floor returns how many whole units have passed from 1970 to t.
func floor(t time.Time, unit time.Duration) int64 {
	if unit == time.Second {
		return t.Unix()
	}
	return t.UnixMilli()
}

func withinYears(t time.Time) bool { return t.Year() >= 1 && t.Year() <= 9999 }

// number returns the value as a number, and NaN for a value that is not a number.
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
