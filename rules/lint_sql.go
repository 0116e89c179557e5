package rules

import (
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"

	"tallyman/rules/probe"
	"tallyman/rules/problem"
	"tallyman/rules/row"
)

// LintSQL warns where the SQL of a sound rule compares a column with a literal of another kind. ask returns the type of
// a column, and nil where the type is not known. ask gets several questions for one column, and answers the first one
// that the source accepts.
func LintSQL(r *Rule, ask func(questions []string) *row.Column) problem.List {
	stmt, faults := r.Probe.Statement()
	if len(faults) > 0 {
		return nil
	}
	literals := stmt.Literals()
	known := map[string]*row.Column{}
	var l problem.List
	for i := range literals {
		c := &literals[i]
		name := strings.Join(c.Questions, "\x00")
		if _, asked := known[name]; !asked {
			known[name] = ask(c.Questions)
		}
		if col := known[name]; col != nil {
			if code, message, hint := mistyped(c, col, literals); code != "" {
				l = append(l, r.ProblemIn("probe.sql", c.At-1, code, message, hint))
			}
		}
	}
	return l
}

var (
	anyNumber = regexp.MustCompile(`^\s*[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?\s*$`)
	// quantity is a number as people write quantities. It leaves out codes of fixed width, which begin with zeros, and
	// days such as 20260601, which have eight digits.
	quantity = regexp.MustCompile(`^[-+]?(0|[1-9][0-9]{0,6})(\.[0-9]+)?$`)
	// textType matches database types that hold any text. ENUM is not among them, because its values have numbers too.
	textType = regexp.MustCompile(`(?i)char|text|clob|string`)
)

// mistyped judges a comparison. It returns the code "" where nothing is wrong, or where that is not certain.
func mistyped(c *probe.LiteralComparison, col *row.Column, all []probe.LiteralComparison) (code, message, hint string) {
	isNumber := col.Kind == row.Int || col.Kind == row.Decimal || col.Kind == row.Float
	isText := col.Kind == row.Text && textType.MatchString(col.DBType)
	switch {
	case isText && !c.IsText:
		return CodeTextNumber, fmt.Sprintf("the text column %s is compared with the number %s: a database may compare letters, so that 9.5 is greater than 100, or fail at a text that is no number", c.Column, c.Literal),
			fmt.Sprintf("write '%s' where the text itself is meant; for numbers write CAST(%s AS DECIMAL(18,4))", c.Literal, c.Column)
	case isText && c.IsOrder && quantity.MatchString(c.Literal) && !isFixedWidth(c, all):
		return CodeTextNumber, fmt.Sprintf("the text column %s is compared with '%s' letter by letter: 9.5 is greater than 100", c.Column, c.Literal),
			fmt.Sprintf("write CAST(%s AS DECIMAL(18,4)) and the number without quotes", c.Column)
	case isNumber && c.IsText && !c.IsNot && c.Literal != "" && !anyNumber.MatchString(c.Literal):
		return CodeNumberText, fmt.Sprintf("the number column %s is compared with the text '%s': a database may take the text for 0, find no row or all rows, or fail", c.Column, c.Literal),
			fmt.Sprintf("compare %s with a number, or the column that holds the text", c.Column)
	}
	return "", "", ""
}

// isFixedWidth tells whether the SQL also compares the column, by <, > or BETWEEN, with another text of the same
// length. Rules compare codes of fixed width in this way: BETWEEN '100' AND '199'.
func isFixedWidth(c *probe.LiteralComparison, all []probe.LiteralComparison) bool {
	for i := range all {
		o := &all[i]
		if o.At != c.At && o.Column == c.Column && o.IsOrder && o.IsText && utf8.RuneCountInString(o.Literal) == utf8.RuneCountInString(c.Literal) {
			return true
		}
	}
	return false
}
