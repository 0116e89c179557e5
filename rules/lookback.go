package rules

import (
	"fmt"
	"strconv"
	"time"

	"tallyman/rules/jsonschema"
	"tallyman/rules/row"
	"tallyman/rules/strictyaml"
)

// LookBack says how far below its watermark a rule reads again, to find rows of transactions that committed late. At
// most one field is set. The zero value reads nothing again.
type LookBack struct {
	Time    time.Duration `json:",omitempty"` // The rule reads again the rows that came up within this time.
	Numbers int64         `json:",omitempty"` // The distance in numbers of the watermark's first column.
}

// DefaultLookBack is the look-back of a watermark that begins with a number, where the rule sets none.
const DefaultLookBack = 5 * time.Minute

const (
	longestLookBack = 24 * time.Hour
	mostNumbers     = 1_000_000_000
)

// IsZero tells whether nothing is read again.
func (b LookBack) IsZero() bool { return b == LookBack{} }

// String returns the look-back as a rule file writes it.
func (b LookBack) String() string {
	if b.Numbers > 0 {
		return strconv.FormatInt(b.Numbers, 10)
	}
	return strictyaml.FormatDuration(b.Time)
}

// LooksBack returns the look-back of each run: the rule's own, else the default.
func (w *Watermark) LooksBack() LookBack {
	switch {
	case w == nil || len(w.Columns) == 0:
		return LookBack{}
	case w.LookBack != nil:
		return *w.LookBack
	case isNumber(w.Initial[w.Columns[0]]):
		return LookBack{Time: DefaultLookBack}
	}
	return LookBack{}
}

// isNumber tells whether the initial value of a watermark is a number. A decimal is a text here, since YAML needs
// quotes to keep it exact.
func isNumber(initial any) bool {
	switch v := initial.(type) {
	case int64, float64:
		return true
	case string:
		_, err := row.ParseDecimal(v)
		return err == nil
	}
	return false
}

// lookBackSpec is the written form of a LookBack: a duration, or a whole number for Numbers.
type lookBackSpec LookBack

// DecodeYAML implements strictyaml.Decodable.
func (b *lookBackSpec) DecodeYAML(d *strictyaml.Decoder, name string, n *strictyaml.Node) {
	const want = "a duration up to 1d such as 10m, a number of ids such as 5000, or 0"
	*b = lookBackSpec{}
	if n.Kind == strictyaml.Scalar && n.Tag == "!!int" {
		if v, ok := d.Int(name, n); ok && (v < 0 || v > mostNumbers) {
			d.Fail(n, strictyaml.CodeOutOfRange, fmt.Sprintf("%s is %d", name, v), want)
		} else if ok {
			b.Numbers = v
		}
		return
	}
	text, ok := d.Text(name, n)
	if !ok {
		return
	}
	span, err := strictyaml.ParseDuration(text)
	switch {
	case err != nil:
		d.Fail(n, strictyaml.CodeDuration, fmt.Sprintf("%s: %q is no duration", name, text), want)
	case span < 0 || span > longestLookBack:
		d.Fail(n, strictyaml.CodeOutOfRange, fmt.Sprintf("%s is %s", name, text), want)
	default:
		b.Time = span
	}
}

// JSONSchema implements jsonschema.Schemer.
func (*lookBackSpec) JSONSchema() *jsonschema.Schema {
	least, most := int64(0), int64(mostNumbers)
	return &jsonschema.Schema{Type: jsonschema.Types{"string", "integer"}, Pattern: jsonschema.Duration, MinLength: 1, Minimum: &least, Maximum: &most}
}
