package probe

import (
	"slices"
	"strconv"
	"strings"
)

// Style is how a driver writes parameters.
type Style uint8

// The styles.
const (
	Dollar       Style = iota + 1 // $1, $2 …: a name that comes again has the same number (PostgreSQL)
	Question                      // ?: a name that comes again is bound again (SQLite)
	QuestionTime                  // as Question; a built-in time says that it is one (MySQL)
	At                            // @p1, @p2 …: a name that comes again is bound again, a built-in time says that it is one (SQL Server)
	Numbered                      // :1, :2 …: the same (Oracle)
)

// Render writes the SQL for a driver, and says which parameters to bind in which order. Everything
// outside parameters stays as it was written, but for the backslash of \: .
func (s *Statement) Render(style Style) (sql string, order []string) {
	var b strings.Builder
	b.Grow(len(s.Text) + 16*len(s.Params))
	for _, p := range s.pieces {
		if p.param == "" {
			b.WriteString(p.text)
			continue
		}
		switch style {
		case Dollar:
			n := slices.Index(order, p.param)
			if n < 0 {
				n = len(order)
				order = append(order, p.param)
			}
			b.WriteByte('$')
			b.WriteString(strconv.Itoa(n + 1))
			if s.Times[p.param] {
				b.WriteString("::timestamptz")
			}
		case Question, QuestionTime:
			order = append(order, p.param)
			if style == QuestionTime && s.Times[p.param] {
				b.WriteString("CAST(? AS DATETIME(6))")
				continue
			}
			b.WriteByte('?')
		case At, Numbered:
			order = append(order, p.param)
			b.WriteString(numbered(style, len(order), s.Times[p.param]))
		}
	}
	return b.String(), order
}

// numbered writes the n-th parameter.
func numbered(style Style, n int, isTime bool) string {
	prefix, kind := "@p", "datetime2"
	if style == Numbered {
		prefix, kind = ":", "TIMESTAMP"
	}
	name := prefix + strconv.Itoa(n)
	if isTime {
		return "CAST(" + name + " AS " + kind + ")"
	}
	return name
}
