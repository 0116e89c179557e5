package message

import (
	"fmt"
	"strings"
	"text/template"
	"time"

	"github.com/cockroachdb/apd/v3"

	"tallyman/rules/row"
)

// arity is how many arguments a helper takes, a piped one included.
type arity struct {
	least, most int
	example     string
}

const many = 1000

// String says how many, for messages.
func (a arity) String() string {
	switch {
	case a.most == many:
		return fmt.Sprintf("%d or more arguments", a.least)
	case a.least == 1:
		return "1 argument"
	}
	return fmt.Sprintf("%d arguments", a.least)
}

// helpers are the functions of a template, all of them; docs/rule-reference.md describes them.
var helpers = map[string]arity{
	"default":  {2, 2, `{{ .lot | default "no lot" }}`},
	"upper":    {1, 1, "{{ .sku | upper }}"},
	"lower":    {1, 1, "{{ .sku | lower }}"},
	"trim":     {1, 1, "{{ .name | trim }}"},
	"truncate": {2, 2, "{{ .name | truncate 40 }}"},
	"round":    {2, 2, "{{ .qty | round 2 }}"},
	"date":     {2, 2, `{{ .expires_on | date "DD.MM.YYYY" }}`},
	"eq":       {2, many, `{{ if eq .status "open" "held" }}`},
	"ne":       {2, 2, `{{ if ne .status "open" }}`},
	"lt":       {2, 2, "{{ if lt .qty 0 }}"},
	"le":       {2, 2, "{{ if le .qty 0 }}"},
	"gt":       {2, 2, "{{ if gt .qty 0 }}"},
	"ge":       {2, 2, "{{ if ge .qty 0 }}"},
	"and":      {1, many, "{{ if and .sku .lot }}"},
	"or":       {1, many, "{{ if or .sku .lot }}"},
	"not":      {1, 1, "{{ if not .lot }}"},
}

// functions are the helpers for a zone; and, or and not are the template package's own. What they read counts as work on
// the text.
func functions(zone *time.Location, out *limited) template.FuncMap {
	onText := func(fn func(string) string) func(any) (string, error) {
		return func(v any) (string, error) { return fn(textOf(v)), out.work(cost(v)) }
	}
	comparing := func(want func(int) bool) func(a, b any) (bool, error) {
		return func(a, b any) (bool, error) {
			if err := out.work(min(cost(a), cost(b))); err != nil {
				return false, err
			}
			return compare(a, b, want)
		}
	}
	equal := comparing(func(c int) bool { return c == 0 })
	return template.FuncMap{
		"default": func(fallback, v any) any {
			if valueOf(v).IsNull() {
				return fallback
			}
			return v
		},
		"upper":    onText(strings.ToUpper),
		"lower":    onText(strings.ToLower),
		"trim":     onText(strings.TrimSpace),
		"truncate": func(n int, v any) (string, error) { return truncate(n, v), out.work(cost(v)) },
		"round": func(n int, v any) (any, error) {
			if err := out.work(cost(v)); err != nil {
				return nil, err
			}
			return round(n, v)
		},
		"date": func(layout string, v any) (string, error) {
			if err := out.work(len(layout)); err != nil {
				return "", err
			}
			return date(layout, v, zone)
		},
		"eq": func(a any, others ...any) (bool, error) {
			for _, b := range others {
				if same, err := equal(a, b); err != nil || same {
					return same, err
				}
			}
			return false, nil
		},
		"ne": func(a, b any) (bool, error) {
			same, err := equal(a, b)
			return !same, err
		},
		"lt": comparing(func(c int) bool { return c < 0 }),
		"le": comparing(func(c int) bool { return c <= 0 }),
		"gt": comparing(func(c int) bool { return c > 0 }),
		"ge": comparing(func(c int) bool { return c >= 0 }),
	}
}

// cost is how much work it is to read an argument, about, in bytes.
func cost(a any) int {
	const plain = 64
	switch a := a.(type) {
	case string:
		return plain + len(a)
	case decimal:
		return plain + a.value().Size()
	case other:
		return plain + a.v.Size()
	}
	return plain
}

// compare orders two values exactly. NULL and the empty text are equal to each other, and neither less nor more
// than anything else.
func compare(a, b any, want func(int) bool) (bool, error) {
	x, y := valueOf(a), valueOf(b)
	if x.IsNull() || y.IsNull() {
		return x.IsNull() && y.IsNull() && want(0), nil
	}
	c, err := row.Compare(x, y)
	if err != nil {
		return false, fmt.Errorf("%s does not compare with %s", describe(x), describe(y))
	}
	return want(c), nil
}

func describe(v row.Value) string {
	if v.Kind() == row.Int {
		return "an int"
	}
	return "a " + v.Kind().String()
}

// truncate keeps the first n characters; what it cuts it marks.
func truncate(n int, v any) string {
	r := []rune(textOf(v))
	if len(r) <= max(n, 0) {
		return string(r)
	}
	return string(r[:max(n, 0)]) + "…"
}

// round rounds a number half away from zero to n digits after the point, at most 18.
func round(n int, v any) (any, error) {
	x := valueOf(v)
	switch x.Kind() {
	case row.Null:
		return "", nil
	case row.Int, row.Float, row.Decimal:
	default:
		return nil, fmt.Errorf("round takes a number, not %s", describe(x))
	}
	const most = 18
	if n < 0 || n > most {
		return nil, fmt.Errorf("round takes 0 to %d digits, not %d", most, n)
	}
	var scratch, out apd.Decimal
	d := x.Apd(&scratch)
	if d.Form != apd.Finite {
		return x.String(), nil
	}
	const widest = 200_000 // beyond any database's numeric
	c := apd.BaseContext.WithPrecision(widest)
	c.Rounding = apd.RoundHalfUp
	if _, err := c.Quantize(&out, d, int32(-n)); err != nil {
		return nil, fmt.Errorf("round: %w", err)
	}
	return decimalOf(row.NormalDecimalOf(&out)), nil
}

// dateParts are what a layout may name, longest first.
var dateParts = []struct{ name, layout string }{
	{"YYYY", "2006"}, {"YY", "06"}, {"MM", "01"}, {"DD", "02"}, {"HH", "15"}, {"mm", "04"}, {"ss", "05"},
}

// date writes a time in the zone, a day as it is.
func date(layout string, v any, zone *time.Location) (string, error) {
	x := valueOf(v)
	switch x.Kind() {
	case row.Null:
		return "", nil
	case row.Time, row.Date:
	default:
		return "", fmt.Errorf("date takes a time or a date, not %s", describe(x))
	}
	t := x.Time()
	if x.Kind() == row.Time {
		t = t.In(zone)
	}
	var b strings.Builder
next:
	for layout != "" {
		for _, p := range dateParts {
			if rest, ok := strings.CutPrefix(layout, p.name); ok {
				b.WriteString(t.Format(p.layout))
				layout = rest
				continue next
			}
		}
		b.WriteByte(layout[0])
		layout = layout[1:]
	}
	return b.String(), nil
}
