package message

import (
	"errors"
	"fmt"
	"iter"
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

// limited keeps the first MaxSize bytes, and ends what takes too much work.
type limited struct {
	text []byte
	full bool // something was dropped
	done int  // of maxWork
}

func (l *limited) reset() { *l = limited{text: l.text[:0]} }

// work accounts for work about to be done; an error where that is too much.
func (l *limited) work(n int) error {
	if l.done += n; l.done <= maxWork {
		return nil
	}
	l.full = true
	return errFull
}

// Write implements io.Writer.
func (l *limited) Write(p []byte) (int, error) { return len(p), l.add(string(p)) }

// add keeps what there is room for, and fails where that is not all.
func (l *limited) add(s string) error {
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
func (l *limited) String() string {
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
