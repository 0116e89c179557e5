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

// Render writes the row. The text is valid UTF-8; what else the row's values hold is in it as it is, and made visible by whoever shows it.
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

// execute runs the template and returns the template package's own error. The columns outside of range are those of the
// first row.
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

// nameIndexed stands in a tree where range takes the position of a row too; it can be no column's name.
const nameIndexed = "rows with their positions"

// sequence gives one row after the other, all in the same map, until the budget is used up.
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

// next takes up a row; false where the text has had its share of work.
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

// maxWork is how much work one text may take: bytes that helpers read, and nodeWork for each part of a template that a
// range runs.
const maxWork = 16 << 20

const nodeWork = 50

// limitedText keeps the first MaxSize bytes, and ends what takes too much work.
type limitedText struct {
	text []byte
	full bool // something was dropped
	done int  // of maxWork
}

func (l *limitedText) reset() { *l = limitedText{text: l.text[:0]} }

// work accounts for work about to be done; an error where that is too much.
func (l *limitedText) work(n int) error {
	if l.done += n; l.done <= maxWork {
		return nil
	}
	l.full = true
	return errFull
}

// Write implements io.Writer.
func (l *limitedText) Write(p []byte) (int, error) { return len(p), l.add(string(p)) }

// add keeps what there is room for, and fails where that is not all.
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

// String returns the text; one that is full ends in "…".
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

// ranged counts the parts that stand in a range.
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

// arguments counts what stands in a pipeline.
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

// A template sees NULL as the empty text, so that it prints as nothing and is false; bool, int and float as Go's own; texts as
// strings; all else as one of these, which print themselves.

// decimal is a Decimal. The value lies behind the end of the slice where it is zero: package text/template takes an empty
// slice for false and a struct always for true.
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

// otherValue is a value of the remaining kinds: true in an if, whatever it holds.
type otherValue struct{ v row.Value }

// String prints the value as row does.
func (o otherValue) String() string { return o.v.String() }

// forTemplate is how a template sees v.
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

// float is a Float that prints as everywhere else, not as Go does.
type float float64

// String prints the shortest digits that read back alike.
func (f float) String() string { return row.FloatOf(float64(f)).String() }

// valueOf reads an argument of a helper: a column, a literal, or what another helper returned.
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

// exactFloat makes 0.1 equal to the decimal 0.1, which is what a person who wrote it means.
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

// textOf prints an argument as the template itself would.
func textOf(a any) string {
	if s, ok := a.(string); ok {
		return s
	}
	return fmt.Sprint(a)
}
