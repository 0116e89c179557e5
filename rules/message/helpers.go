package message

import (
	"fmt"
	"slices"
	"strings"
	"text/template"
	"time"

	"github.com/cockroachdb/apd/v3"

	"tallyman/rules/row"
)

// Helper describes a function of templates, for the guide in docs/reference/rule-file.md. The tests of package
// docs/reference run the examples.
type Helper struct {
	Name        string
	Least, Most int // The bounds of the number of arguments. A piped value counts as an argument.
	Meaning     string
	Example     string
	Gives       string // The result of the example.
}

const many = 1000

// arguments says how many arguments the helper takes, for messages.
func (h Helper) arguments() string {
	switch {
	case h.Most == many:
		return fmt.Sprintf("%d or more arguments", h.Least)
	case h.Least == 1:
		return "1 argument"
	}
	return fmt.Sprintf("%d arguments", h.Least)
}

// helpers lists all helpers, in the order of the guide.
var helpers = []Helper{
	{"default", 2, 2, "the first value in place of NULL or an empty text", `{{ .wave_no | default "no wave" }}`, "no wave"},
	{"upper", 1, 1, "in capitals", `{{ upper "a-01" }}`, "A-01"},
	{"lower", 1, 1, "in small letters", `{{ .sku | lower }}`, "test-42"},
	{"trim", 1, 1, "without spaces at its ends", `{{ "  A " | trim }}`, "A"},
	{"truncate", 2, 2, "at most this many characters, with … where the text is cut", `{{ .sku | truncate 4 }}`, "TEST…"},
	{"round", 2, 2, "this many digits after the point, halves away from zero", `{{ .qty | round 1 }}`, "-3.5"},
	{"date", 2, 2, "a time in the rule's timezone, or a day: YYYY YY MM DD HH mm ss", `{{ .released_at | date "DD.MM.YYYY HH:mm" }}`, "30.05.2026 22:15"},
	{"eq", 2, many, "the first value equals one of the others exactly", `{{ if eq .zone "A" "B" }}in front{{ end }}`, "in front"},
	{"ne", 2, 2, "not equal", `{{ if ne .zone "A" }}elsewhere{{ end }}`, ""},
	{"lt", 2, 2, "less; NULL is neither less nor more than anything", `{{ if lt .qty 0 }}below zero{{ end }}`, "below zero"},
	{"le", 2, 2, "at most", `{{ if le .qty -3.5 }}low{{ end }}`, "low"},
	{"gt", 2, 2, "more", `{{ if gt .qty 0 }}in stock{{ end }}`, ""},
	{"ge", 2, 2, "at least", `{{ if ge .lines 4 }}large{{ end }}`, "large"},
	{"and", 1, many, "the first value that is false, NULL, 0 or empty, else the last value", `{{ if and .sku (lt .qty 0) }}check{{ end }}`, "check"},
	{"or", 1, many, "the first value that is not false, NULL, 0 or empty, else the last value", `{{ or .wave_no .zone }}`, "A"},
	{"not", 1, 1, "true for false, NULL, 0 and the empty text", `{{ if not .wave_no }}no wave{{ end }}`, "no wave"},
}

// Reference returns the helpers, in the order of the guide.
func Reference() []Helper { return slices.Clone(helpers) }

// helper finds a helper by its name.
func helper(name string) (Helper, bool) {
	i := slices.IndexFunc(helpers, func(h Helper) bool { return h.Name == name })
	if i < 0 {
		return Helper{}, false
	}
	return helpers[i], true
}

func helperNames() []string {
	names := make([]string, len(helpers))
	for i, h := range helpers {
		names[i] = h.Name
	}
	slices.Sort(names)
	return names
}

// functions returns the helpers. The helper date writes times in the zone. The texts that helpers read count as work on
// out. The helpers "and", "or" and "not" come from text/template itself.
func functions(zone *time.Location, out *limitedText) template.FuncMap {
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

// cost returns about how much work it is to read an argument, in bytes.
func cost(a any) int {
	const plain = 64
	switch a := a.(type) {
	case string:
		return plain + len(a)
	case decimal:
		return plain + a.value().Size()
	case otherValue:
		return plain + a.v.Size()
	}
	return plain
}

// compare compares two values exactly. NULL and the empty text are equal to each other, and neither less nor more than
// any other value.
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

// truncate keeps the first n characters. A text that it cuts ends in "…".
func truncate(n int, v any) string {
	r := []rune(textOf(v))
	if len(r) <= max(n, 0) {
		return string(r)
	}
	return string(r[:max(n, 0)]) + "…"
}

// round rounds a number to n digits after the point, halves away from zero. n is at most 18.
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

// dateParts are the parts of a layout. YYYY must come before YY, because the first part that matches counts.
var dateParts = []struct{ name, layout string }{
	{"YYYY", "2006"}, {"YY", "06"}, {"MM", "01"}, {"DD", "02"}, {"HH", "15"}, {"mm", "04"}, {"ss", "05"},
}

// date writes a time in the zone. A date has no zone and stays as it is.
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
