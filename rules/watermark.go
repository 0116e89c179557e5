package rules

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"tallyman/rules/row"
	"tallyman/rules/strictyaml"
)

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// initialValue is the initial value of a watermark's column.
type initialValue struct {
	value row.Value
	ago   *time.Duration // Not nil: the value is the time of the first run plus this duration, which is not positive.
}

func (v initialValue) at(now time.Time) row.Value {
	if v.ago != nil {
		return row.TimeOf(now.Add(*v.ago))
	}
	return v.value
}

// watermark finds the columns of the watermark, and converts the initial values to the kinds of the columns.
func (c *compiler) watermark() {
	w := c.r.Probe.Watermark
	if w == nil {
		return
	}
	c.program.watermark = c.positions("probe.watermark.columns", w.Columns)
	for i, at := range c.program.watermark {
		if at < 0 {
			continue
		}
		name, kind := w.Columns[i], c.columns[at].Kind
		v, ok := initialOf(kind, w.Initial[name])
		if kind == row.Text && isDuration(w.Initial[name]) {
			c.fail("probe.watermark.initial."+name, CodeWatermark,
				fmt.Sprintf("the column %q is a text: the duration %v would be compared as a text, and the first run would read the whole history", name, w.Initial[name]),
				"have the probe CAST the column to a time, or write initial as a text in the form of the column")
		} else if !ok {
			c.fail("probe.watermark.initial."+name, CodeWatermark, fmt.Sprintf("%v does not fit the column %q of kind %s", w.Initial[name], name, kind), initialHint(kind))
		}
		c.program.initial, c.program.kinds = append(c.program.initial, v), append(c.program.kinds, kind)
	}
	c.lookBack(w)
}

// lookBack checks that a look-back in numbers belongs to a column of numbers.
func (c *compiler) lookBack(w *Watermark) {
	at := c.program.watermark[0]
	if at < 0 || w.LooksBack().Numbers == 0 {
		return
	}
	switch c.columns[at].Kind {
	case row.Int, row.Decimal, row.Float:
	default:
		c.fail("probe.watermark.look_back", CodeWatermark,
			fmt.Sprintf("look_back counts numbers, but the column %q is of kind %s", w.Columns[0], c.columns[at].Kind), "write a duration, such as 10m")
	}
}

// isDuration tells whether an initial value is written as a duration, such as "-12h".
func isDuration(given any) bool {
	text, ok := given.(string)
	d, err := strictyaml.ParseDuration(text)
	return ok && err == nil && d != 0
}

func initialHint(k row.Kind) string {
	switch k {
	case row.Time, row.Date:
		return `a duration before the first run, as "-1h", or a time, as "2026-06-01T00:00:00Z"`
	case row.Int:
		return "a whole number"
	case row.Decimal, row.Float:
		return "a number"
	case row.Text:
		return "a text in quotes"
	default:
		return "a watermark needs a column that grows: have the probe CAST it to a time, a number or a text"
	}
}

// initialOf converts an initial value of the rule to the kind of its column. It returns false where the value does not
// fit. No value fits a JSON column. Go compares JSON values as texts, so "10" is less than "9".
func initialOf(k row.Kind, given any) (initialValue, bool) {
	if s, ok := given.(string); ok {
		return initialText(k, s)
	}
	number, err := row.ParseDecimal(fmt.Sprint(given))
	if err != nil {
		return initialValue{}, false
	}
	whole, isWhole := given.(int64)
	switch {
	case isWhole && k == row.Int:
		return initialValue{value: row.IntOf(whole)}, true
	case k == row.Decimal:
		return initialValue{value: number}, true
	case k == row.Float:
		f, err := strconv.ParseFloat(number.String(), 64)
		return initialValue{value: row.FloatOf(f)}, err == nil
	}
	return initialValue{}, false
}

func initialText(k row.Kind, given string) (initialValue, bool) {
	switch k {
	case row.Text:
		return initialValue{value: row.TextOf(given)}, true
	case row.Decimal:
		v, err := row.ParseDecimal(given)
		return initialValue{value: v}, err == nil
	case row.Time, row.Date:
		if d, err := strictyaml.ParseDuration(given); err == nil && d <= 0 {
			return initialValue{ago: &d}, true
		}
		for _, layout := range []string{time.RFC3339, time.DateOnly} {
			if t, err := time.Parse(layout, strings.TrimSpace(given)); err == nil {
				return initialValue{value: row.TimeOf(t)}, true
			}
		}
		return initialValue{}, false
	default:
		return initialValue{}, false
	}
}
