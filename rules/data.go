package rules

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"tallyman/internal/notice"
	"tallyman/rules/catalog"
	"tallyman/rules/message"
	"tallyman/rules/row"
)

var errRequired = errors.New("is NULL, but the type requires it")

// fitting says which kinds of values a field takes. A text takes numbers as they print: WMS numbers of bins and
// articles are names. JSON is judged by each row: a member may hold anything.
var fitting = map[catalog.FieldKind][]row.Kind{
	catalog.String:  {row.Text, row.JSON, row.Int, row.Decimal},
	catalog.Int:     {row.Int},
	catalog.Decimal: {row.Decimal, row.Int, row.Float},
	catalog.Bool:    {row.Bool},
	catalog.Time:    {row.Time, row.Date},
}

// Fits tells whether values of the kind may be told by such a field, as far as can be known before a row is there.
func Fits(want catalog.FieldKind, k row.Kind) bool {
	return k == row.Null || k == row.JSON || slices.Contains(fitting[want], k)
}

// kindHint says how to make a value fit.
func kindHint(want catalog.FieldKind, k row.Kind) string {
	switch {
	case want == catalog.String:
		return "write string(…), or give the field another type in the catalogue"
	case want == catalog.Int && k == row.Decimal:
		return "give the field the type decimal, or CAST to an integer in the SQL"
	case want == catalog.Bool && k == row.Int:
		return "write … != 0"
	}
	return "convert it, or give the field another type in the catalogue"
}

// fit converts a value to the field's kind.
func fit(want catalog.FieldKind, v row.Value) (row.Value, error) {
	if v.IsNull() {
		return v, nil
	}
	if !slices.Contains(fitting[want], v.Kind()) {
		return v, fmt.Errorf("is a value of kind %s, which does not fit a field of type %s", v.Kind(), want)
	}
	switch {
	case want == catalog.String:
		return row.TextOf(bounded(v.String(), message.MaxSize)), nil
	case want == catalog.Decimal && v.Kind() == row.Int:
		return row.DecimalOf(v.Int(), 0), nil
	case want == catalog.Decimal && v.Kind() == row.Float:
		if math.IsNaN(v.Float()) || math.IsInf(v.Float(), 0) {
			return v, fmt.Errorf("is %s, which is no decimal", v)
		}
		return row.ParseDecimal(strconv.FormatFloat(v.Float(), 'f', -1, 64))
	case want == catalog.Time && v.Kind() == row.Date:
		return row.TimeOf(v.Time()), nil
	}
	return v, nil
}

// bounded makes a text valid UTF-8. Where there are more than most bytes, the rest is cut off and the text ends in "…".
func bounded(s string, most int) string {
	if len(s) > most {
		const mark = "…"
		s = strings.ToValidUTF8(s[:most-len(mark)], "") + mark
	}
	return strings.ToValidUTF8(s, "\uFFFD")
}

// clampPriority makes a priority of what the expression gave.
func clampPriority(v row.Value) (int, error) {
	const low, high = notice.LowestPriority, notice.HighestPriority
	switch v.Kind() {
	case row.Int, row.Decimal, row.Float:
	case row.Null:
		return 0, errors.New("priority: is NULL")
	default:
		return 0, fmt.Errorf("priority: is a value of kind %s, not a number", v.Kind())
	}
	for n := high; n > low; n-- {
		if c, err := row.Compare(v, row.IntOf(int64(n))); err == nil && c >= 0 {
			return n, nil
		}
	}
	return low, nil
}

// clip keeps messages short.
func clip(s string) string {
	const most = 60
	if r := []rune(s); len(r) > most {
		return string(r[:most]) + "…"
	}
	return s
}
