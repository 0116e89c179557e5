package probe

import "slices"

// Parse cuts the SQL at its parameters and returns everything that keeps it from being one read-only
// statement. The Statement is nil where there are faults.
func Parse(sql string) (*Statement, []Fault) {
	tokens, faults := Lex(sql)
	faults = append(faults, check(sql, tokens)...)
	if len(faults) > 0 {
		slices.SortStableFunc(faults, func(a, b Fault) int { return a.Offset - b.Offset })
		return nil, faults
	}
	return cut(sql, tokens), nil
}

// cut makes the Statement from tokens without fault.
func cut(sql string, tokens []Token) *Statement {
	s := &Statement{Text: sql, Times: map[string]bool{}}
	from := 0
	for _, t := range tokens {
		switch {
		case t.Kind == Param:
			s.add(sql[from:t.Start], t.Text[1:])
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
