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
	Text      string          // as written
	Params    []string        // names in order of first appearance
	Times     map[string]bool // those of Params that are built-in timestamps: now, scheduled_at, last_run_at, until
	Watermark []string        // columns that :wm_<column> names, in order of first appearance
	// NullExtended tells that a column of a table may be NULL in the result though the table says NOT NULL:
	// an outer join, a set operation or a grouping set stands somewhere in the text.
	NullExtended bool

	pieces []piece
	forms  map[int]string // columns whose form parameters have, by where these stand in bytes
}

// piece is a stretch of the text: either as written, or a parameter.
type piece struct {
	text  string // to be sent as it is; "" for a parameter
	param string
}

// builtinTimes are the parameters that the engine gives and that are instants.
var builtinTimes = map[string]bool{"now": true, "scheduled_at": true, "last_run_at": true, "until": true}

// watermarkPrefix starts the names of the parameters that hold the watermark of the last run.
const watermarkPrefix = "wm_"

// Builtin tells whether the engine gives the parameter a value, so that a rule cannot.
func Builtin(name string) bool {
	return name == "scope" || builtinTimes[name] || len(name) > len(watermarkPrefix) && name[:len(watermarkPrefix)] == watermarkPrefix
}

// Fault is something in the SQL that keeps it from being a probe.
type Fault struct {
	Offset  int    // where it stands, in characters from the start of the text
	Code    string // stable: sql_empty, sql_unterminated, sql_several_statements, sql_not_select, sql_writes, sql_locks, sql_session, sql_function, sql_parameter, sql_escaped, full_width
	Message string
	Hint    string // the way out; "" where the message says it
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

// Parse cuts the SQL at its parameters and returns everything that keeps it from being one read-only
// statement. The Statement is nil where there are faults.
func Parse(sql string) (*Statement, []Fault) {
	tokens, faults := Lex(sql)
	if slices.ContainsFunc(faults, func(f Fault) bool { return f.Code == CodeFullWidth }) {
		return nil, faults // what they would mean is not known
	}
	faults = append(faults, check(sql, tokens)...)
	faults = append(faults, positional(sql, tokens)...)
	if len(faults) > 0 {
		slices.SortStableFunc(faults, func(a, b Fault) int { return a.Offset - b.Offset })
		return nil, faults
	}
	return cut(sql, tokens, nil), nil
}

// cut makes the Statement from tokens without fault. forms are the columns whose form parameters have, by where these stand.
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

// nullExtending holds the words that can put NULL where a table has none.
var nullExtending = map[string]bool{
	"left": true, "right": true, "full": true, "union": true, "intersect": true, "except": true,
	"rollup": true, "cube": true, "grouping": true,
}

// add appends a stretch of text and the parameter after it, each unless empty.
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

// Place maps a place in the SQL that Render gives a driver back to the text as it was written; both count characters from 1.
// Inside a parameter it is the parameter's beginning. 0 where the place is not in the SQL.
func (s *Statement) Place(style Style, at int) int {
	written, rendered := 0, 0 // bytes of Text, and characters of the SQL, before the piece
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
		if p.param == "" && at > 0 {
			place += at - rendered - 1
		}
		return place
	}
	return 0
}
