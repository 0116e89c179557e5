package probe

import (
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"tallyman/rules/problem"
)

// Statement is the SQL of a rule, cut at its parameters. Parse makes it.
type Statement struct {
	Text      string          // The SQL as written.
	Params    []string        // The names of the parameters, in order of first appearance.
	Times     map[string]bool // The Params that are built-in times: now, scheduled_at, last_run_at, until.
	Watermark []string        // The columns that :wm_<column> names, in order of first appearance.
	// NullExtended tells that a column may be NULL in the result although its table says NOT NULL. It is set where the
	// text has an outer join, a set operation or a grouping set.
	NullExtended bool

	pieces []piece
	forms  map[int]string // The column whose form a parameter has, by the place of the parameter in bytes.
}

// piece is a part of the SQL: a text or a parameter.
type piece struct {
	text  string // Sent to the driver as it is. Empty for a parameter.
	param string
}

// builtinTimes are the built-in parameters that are instants.
var builtinTimes = map[string]bool{"now": true, "scheduled_at": true, "last_run_at": true, "until": true}

// watermarkPrefix begins the names of the parameters that hold the watermark.
const watermarkPrefix = "wm_"

// Builtin tells whether the engine gives the parameter its value. A rule cannot set such a parameter.
func Builtin(name string) bool {
	return name == "scope" || builtinTimes[name] || len(name) > len(watermarkPrefix) && name[:len(watermarkPrefix)] == watermarkPrefix
}

// Fault says why the SQL cannot be a probe.
type Fault struct {
	Offset  int    // The place, in characters from the start of the text.
	Code    string // A stable code: one of the constants below.
	Message string
	Hint    string // What to do. Empty where the message says it.
}

// The codes of faults.
const (
	CodeEmpty        = "sql_empty"
	CodeUnterminated = "sql_unterminated"
	CodeSeveral      = "sql_several_statements"
	CodeNotSelect    = "sql_not_select"
	CodeWrites       = "sql_writes"
	CodeLocks        = "sql_locks"
	CodeSession      = "sql_session"
	CodeFunction     = "sql_function"
	CodeParameter    = "sql_parameter"
	CodeEscaped      = "sql_escaped"
	CodeFullWidth    = problem.CodeFullWidth
)

// Parse cuts the SQL at its parameters. It returns a fault for everything that a single read-only statement cannot
// have. The Statement is nil where there are faults.
func Parse(sql string) (*Statement, []Fault) {
	tokens, faults := Lex(sql)
	if slices.ContainsFunc(faults, func(f Fault) bool { return f.Code == CodeFullWidth }) {
		return nil, faults // the meaning of full-width characters is not known, so other faults could be wrong
	}
	faults = append(faults, check(sql, tokens)...)
	faults = append(faults, positional(sql, tokens)...)
	if len(faults) > 0 {
		slices.SortStableFunc(faults, func(a, b Fault) int { return a.Offset - b.Offset })
		return nil, faults
	}
	return cut(sql, tokens, nil), nil
}

// cut makes the Statement from tokens without faults. forms is as in Statement.
func cut(sql string, tokens []Token, forms map[int]string) *Statement {
	s := &Statement{Text: sql, Times: map[string]bool{}, forms: forms}
	from := 0
	for _, t := range tokens {
		switch {
		case t.Kind == Param:
			name := t.Text[1:]
			if column, found := forms[t.Start]; found {
				name += "." + column
			}
			s.add(sql[from:t.Start], name)
			from = t.End()
		case t.Kind == Colon:
			s.add(sql[from:t.Start], "")
			from = t.Start + 1 // the colon without its backslash
		case t.Kind == Word && nullExtending[t.Name()]:
			s.NullExtended = true
		}
	}
	s.add(sql[from:], "")
	return s
}

// nullExtending holds the words that can put NULL into a column that is NOT NULL in its table.
var nullExtending = map[string]bool{
	"left": true, "right": true, "full": true, "union": true, "intersect": true, "except": true,
	"rollup": true, "cube": true, "grouping": true,
}

// add appends a text and the parameter after it. Either may be empty.
func (s *Statement) add(text, param string) {
	if text != "" {
		s.pieces = append(s.pieces, piece{text: text})
	}
	if param == "" {
		return
	}
	s.pieces = append(s.pieces, piece{param: param})
	if slices.Contains(s.Params, param) {
		return
	}
	s.Params = append(s.Params, param)
	switch {
	case builtinTimes[param]:
		s.Times[param] = true
	case param != "scope" && Builtin(param):
		s.Watermark = append(s.Watermark, param[len(watermarkPrefix):])
	}
}

// Style is how a driver writes parameters.
type Style uint8

// The styles.
const (
	Dollar       Style = iota + 1 // $1, $2 … for PostgreSQL. A repeated name has the same number.
	Question                      // ? for SQLite. A repeated name is bound again.
	QuestionTime                  // ? for MySQL. As Question, with a CAST around built-in times.
	At                            // @p1, @p2 … for SQL Server. As QuestionTime.
	Numbered                      // :1, :2 … for Oracle. As QuestionTime.
)

// Render writes the SQL for a driver. order has the parameters to bind, in this order. The text outside of parameters
// stays as written, except that \: loses its backslash.
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

// Place converts a place in the SQL that Render returns to a place in the text as written. Both places count characters
// from 1. Inside a parameter, the result is the beginning of the parameter. The result is 0 where the place is not in
// the SQL.
func (s *Statement) Place(style Style, at int) int {
	if at < 1 {
		return 0
	}
	written, rendered := 0, 0 // before the piece: bytes of Text, and characters of the rendered SQL
	for i, p := range s.pieces {
		if strings.HasPrefix(p.text, ":") && strings.HasPrefix(s.Text[written:], `\`) {
			written++
		}
		upTo := *s
		upTo.pieces = s.pieces[:i+1]
		sql, _ := upTo.Render(style)
		if end := utf8.RuneCountInString(sql); at > end {
			rendered = end
			written += len(p.text)
			if p.param != "" {
				name, _, _ := Formed(p.param)
				written += len(":" + name)
			}
			continue
		}
		place := utf8.RuneCountInString(s.Text[:written]) + 1
		if p.param == "" {
			place += at - rendered - 1
		}
		return place
	}
	return 0
}
