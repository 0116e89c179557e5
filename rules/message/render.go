package message

import (
	"errors"
	"fmt"
	"iter"
	"math"
	"strconv"
	"strings"
	"text/template/parse"
	"unicode/utf8"

	"tallyman/rules/row"
)

// Render renders the template for a row. The text is valid UTF-8. It may hold control characters of the row's values;
// each output makes such characters visible.
func (b *Bound) Render(r *row.Row) (string, error) {
	if b.pieces != nil {
		b.out.reset()
		b.join(r)
		return strings.ToValidUTF8(b.out.String(), "\uFFFD"), nil
	}
	return b.RenderRows([]*row.Row{r})
}

// RenderRows is Render for a template over rows.
func (b *Bound) RenderRows(rows []*row.Row) (string, error) {
	if err := b.execute(rows); err != nil {
		return "", fmt.Errorf("rendering: %s", cause(err))
	}
	return strings.ToValidUTF8(b.out.String(), "\uFFFD"), nil
}

// execute runs the template into b.out. Columns outside of {{ range }} have the values of the first row. The error
// comes from text/template unchanged.
func (b *Bound) execute(rows []*row.Row) error {
	b.out.reset()
	for _, i := range b.columns {
		if len(rows) > 0 {
			b.data[rows[0].Columns[i].Name] = forTemplate(rows[0].Values[i])
		}
	}
	if b.rows {
		b.data[nameRows], b.data[nameIndexed] = b.sequence(rows), b.indexed(rows)
		b.data[nameRowCount] = int64(len(rows))
	}
	if err := b.template.Execute(&b.out, b.data); err != nil && !errors.Is(err, errFull) {
		return err
	}
	return nil
}

// nameIndexed replaces .rows in the tree of a range that also takes the position of a row. No column can have this
// name.
const nameIndexed = "rows with their positions"

// sequence returns the rows one by one, all in the same map, until the budget is used up.
func (b *Bound) sequence(rows []*row.Row) iter.Seq[map[string]any] {
	return func(yield func(map[string]any) bool) {
		for _, r := range rows {
			if !b.next(r) || !yield(b.row) {
				return
			}
		}
	}
}

func (b *Bound) indexed(rows []*row.Row) iter.Seq2[int, map[string]any] {
	return func(yield func(int, map[string]any) bool) {
		for i, r := range rows {
			if !b.next(r) || !yield(i, b.row) {
				return
			}
		}
	}
}

// next makes r the present row of the range. It returns false where the budget of the text is used up.
func (b *Bound) next(r *row.Row) bool {
	if b.out.work(b.perRow) != nil {
		return false
	}
	for _, i := range b.each {
		b.row[r.Columns[i].Name] = forTemplate(r.Values[i])
	}
	return true
}

// join renders a template without logic.
func (b *Bound) join(r *row.Row) {
	for _, p := range b.pieces {
		if b.out.add(p.words) != nil {
			return
		}
		if p.column >= 0 && b.out.add(r.Values[p.column].String()) != nil {
			return
		}
	}
}

var errFull = errors.New("the text is too long")

// maxWork bounds the work for one text. Each byte that a helper reads counts as 1, and each part of a template that a
// range runs counts as nodeWork.
const maxWork = 16 << 20

const nodeWork = 50

// limitedText is an output that keeps the first MaxSize bytes, and stops a rendering that takes too much work.
type limitedText struct {
	text []byte
	full bool // Some of the text was dropped.
	done int  // The work so far.
}

func (l *limitedText) reset() { *l = limitedText{text: l.text[:0]} }

// work adds n to the work so far, before the caller does the work. It returns an error where the sum exceeds maxWork.
func (l *limitedText) work(n int) error {
	if l.done += n; l.done <= maxWork {
		return nil
	}
	l.full = true
	return errFull
}

// Write implements io.Writer.
func (l *limitedText) Write(p []byte) (int, error) { return len(p), l.add(string(p)) }

// add appends as much of s as there is room for. It returns an error where some of s did not fit.
func (l *limitedText) add(s string) error {
	if l.full {
		return errFull
	}
	room := MaxSize - len(l.text)
	l.text = append(l.text, s[:min(len(s), room)]...)
	if len(s) > room {
		l.full = true
		return errFull
	}
	return nil
}

// String returns the text. A text that was cut ends in "…".
func (l *limitedText) String() string {
	if !l.full {
		return string(l.text)
	}
	const mark = "…"
	cut := min(len(l.text), MaxSize-len(mark))
	for least := cut - utf8.UTFMax; cut > max(least, 0) && cut < len(l.text) && !utf8.RuneStart(l.text[cut]); {
		cut--
	}
	return string(l.text[:cut]) + mark
}

// ranged counts the parts of the template that stand in a range.
func ranged(l *parse.ListNode, inside bool) int {
	if l == nil {
		return 0
	}
	n := 0
	for _, node := range l.Nodes {
		if inside {
			n++
		}
		switch node := node.(type) {
		case *parse.IfNode:
			n += ranged(node.List, inside) + ranged(node.ElseList, inside)
		case *parse.WithNode:
			n += ranged(node.List, inside) + ranged(node.ElseList, inside)
		case *parse.RangeNode:
			n += ranged(node.List, true) + ranged(node.ElseList, inside)
		case *parse.ActionNode:
			if inside {
				n += arguments(node.Pipe)
			}
		}
	}
	return n
}

// arguments counts the arguments in a pipeline.
func arguments(p *parse.PipeNode) int {
	n := 0
	for _, c := range p.Cmds {
		n += len(c.Args)
		for _, a := range c.Args {
			if inner, ok := a.(*parse.PipeNode); ok {
				n += arguments(inner)
			}
		}
	}
	return n
}

// A template sees NULL as the empty text, which prints as nothing and is false in an if. It sees a Bool, an Int and a
// Text as bool, int64 and string. The types below serve the other kinds; they print themselves.

// decimal is a Decimal. In text/template an empty slice counts as false, and a struct always counts as true. So a
// decimal is a slice of one value. For zero the slice is empty, and the value lies after its end.
type decimal []row.Value

func decimalOf(v row.Value) decimal {
	d := decimal{v}
	if c, err := row.Compare(v, row.IntOf(0)); err == nil && c == 0 {
		return d[:0]
	}
	return d
}

// String prints the decimal exactly.
func (d decimal) String() string { return d.value().String() }

func (d decimal) value() row.Value { return d[:1][0] }

// otherValue is a value of the remaining kinds. It is always true in an if.
type otherValue struct{ v row.Value }

// String prints the value as row does.
func (o otherValue) String() string { return o.v.String() }

// forTemplate returns the value that a template sees for v.
func forTemplate(v row.Value) any {
	switch v.Kind() {
	case row.Null:
		return ""
	case row.Bool:
		return v.Bool()
	case row.Int:
		return v.Int()
	case row.Text:
		return v.Text()
	case row.Decimal:
		return decimalOf(v)
	case row.Float:
		if v.Float() == 0 {
			return 0.0 // -0 too
		}
		return float(v.Float())
	default:
		return otherValue{v}
	}
}

// float is a Float that prints in the form of package row, and not in Go's form.
type float float64

// String prints the shortest digits that give the same float when they are read.
func (f float) String() string { return row.FloatOf(float64(f)).String() }

// valueOf returns an argument of a helper as a value. The argument is a column, a literal or the result of another
// helper.
func valueOf(a any) row.Value {
	switch a := a.(type) {
	case string:
		if a == "" {
			return row.Value{}
		}
		return row.TextOf(a)
	case bool:
		return row.BoolOf(a)
	case int:
		return row.IntOf(int64(a))
	case int64:
		return row.IntOf(a)
	case float:
		return exactFloat(float64(a))
	case float64:
		return exactFloat(a)
	case decimal:
		return a.value()
	case otherValue:
		return a.v
	default:
		return row.TextOf(fmt.Sprint(a)) // a rune or complex literal
	}
}

// exactFloat turns a float into the decimal with the same digits. A person who writes 0.1 means the decimal 0.1.
func exactFloat(f float64) row.Value {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return row.FloatOf(f)
	}
	v, err := row.ParseDecimal(strconv.FormatFloat(f, 'f', -1, 64))
	if err != nil {
		return row.FloatOf(f)
	}
	return v
}

// textOf returns the text that the template would print for an argument.
func textOf(a any) string {
	if s, ok := a.(string); ok {
		return s
	}
	return fmt.Sprint(a)
}
