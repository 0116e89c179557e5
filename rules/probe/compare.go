package probe

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// Comparison is a place where a statement compares a column with a built-in time, such as created < :now.
type Comparison struct {
	Param  string // The name of the parameter, such as now.
	Column string // The column as it is written, with its table: m.created.
	// Questions are statements that return only the column, under the name Asked. There is one for each SELECT around
	// the comparison, the innermost first. The first statement that the database accepts tells the type of the column.
	Questions []string

	Name     string // The column's own name, in lower case.
	At       int    // The place of the parameter in the text, in characters from 1.
	Declared bool   // The parameter has the form of a declared column.

	start    int  // The place of the parameter, in bytes.
	computed bool // The parameter is a part of a calculation.
}

// Asked is the name of the column that the Questions return.
const Asked = "tallyman_asked"

// Comparisons returns the comparisons of columns with built-in times. Column and time must stand directly beside the
// operator. Comparisons leaves out a comparison with the result of a function.
func (s *Statement) Comparisons() []Comparison {
	tokens, _ := Lex(s.Text)
	r := &comparisonReader{forms: s.forms, checker: checker{sql: s.Text, tokens: tokens}}
	for i, t := range tokens {
		if t.Kind == Param && builtinTimes[t.Text[1:]] {
			r.read(i)
		}
	}
	return r.comparisons
}

type comparisonReader struct {
	checker
	forms       map[int]string
	comparisons []Comparison
}

// read looks for a comparison on both sides of the parameter at token i.
func (r *comparisonReader) read(i int) {
	if at, ok := r.operatorBefore(i); ok {
		if from, ok := r.nameBefore(at); ok && !calculates(r.at(from-1)) {
			r.add(i, from, at, calculates(r.at(i+1)))
			return
		}
	}
	if at, ok := r.operatorAfter(i); ok {
		if to, ok := r.nameAfter(at); ok && !calculates(r.at(to)) && !r.at(to).Is("(") {
			r.add(i, at, to, calculates(r.at(i-1)))
		}
	}
}

// calculates tells whether the token is an operator of a calculation.
func calculates(t Token) bool {
	return t.Kind == Symbol && strings.Contains("+-*/%|:", t.Text) || t.Is("at") || t.Is("collate")
}

// operatorBefore finds a comparison operator that ends right before token i. It returns the operator's first token.
func (r *comparisonReader) operatorBefore(i int) (int, bool) {
	i--
	if r.at(i).Is("and") { // BETWEEN :last_run_at AND :now
		for j := i - 1; j >= 0 && !r.at(j).Is("and"); j-- {
			if r.at(j).Is("between") {
				return r.notBefore(j), true
			}
		}
		return 0, false
	}
	if r.at(i).Is("between") {
		return r.notBefore(i), true
	}
	at := i
	for at >= 0 && compares(r.at(at)) {
		at--
	}
	return at + 1, at < i
}

// notBefore returns the first token of the operator whose BETWEEN is token i: the NOT of NOT BETWEEN, else the BETWEEN.
func (r *comparisonReader) notBefore(i int) int {
	if r.at(i - 1).Is("not") {
		return i - 1
	}
	return i
}

// operatorAfter finds a comparison operator that begins right after token i. It returns the token after the operator.
func (r *comparisonReader) operatorAfter(i int) (int, bool) {
	at := i + 1
	for compares(r.at(at)) {
		at++
	}
	return at, at > i+1
}

func compares(t Token) bool { return t.Kind == Symbol && strings.Contains("<>=!", t.Text) }

// nameBefore finds a name that ends right before token end. It returns the name's first token.
func (r *comparisonReader) nameBefore(end int) (int, bool) {
	if r.at(end-1).Name() == "" {
		return 0, false
	}
	from := end - 1
	for r.at(from-1).Is(".") && r.at(from-2).Name() != "" {
		from -= 2
	}
	return from, true
}

func (r *comparisonReader) nameAfter(from int) (int, bool) {
	if r.at(from).Name() == "" {
		return 0, false
	}
	to := from + 1
	for r.at(to).Is(".") && r.at(to+1).Name() != "" {
		to += 2
	}
	return to, true
}

// add records a comparison of the parameter with the name from token from to token to.
func (r *comparisonReader) add(param, from, to int, computed bool) {
	column := r.sql[r.tokens[from].Start:r.tokens[to-1].End()]
	c := Comparison{Param: r.tokens[param].Text[1:], Column: column, Name: strings.ToLower(r.tokens[to-1].Name()), start: r.tokens[param].Start, computed: computed}
	c.At, c.Declared = 1+utf8.RuneCountInString(r.sql[:c.start]), r.forms[c.start] != ""
	c.Questions = r.questions(param, column)
	r.comparisons = append(r.comparisons, c)
}

// questions returns the statements that ask for a column beside token i.
func (r *comparisonReader) questions(i int, column string) []string {
	var list []string
	around := r.selects(i)
	for _, at := range slices.Backward(around) {
		if tables := r.tables(at); tables != "" {
			list = append(list, r.with(around[0])+"SELECT "+column+" AS "+Asked+" "+tables)
		}
	}
	return list
}

// selects returns the tokens of the SELECTs around token i, the outermost first.
func (r *comparisonReader) selects(i int) []int {
	levels := []int{-1} // the last SELECT of each open parenthesis, or -1
	for at, t := range r.tokens[:i] {
		switch {
		case t.Is("("):
			levels = append(levels, -1)
		case t.Is(")") && len(levels) > 1:
			levels = levels[:len(levels)-1]
		case t.Is("select"):
			levels[len(levels)-1] = at
		}
	}
	return slices.DeleteFunc(levels, func(at int) bool { return at < 0 })
}

// with returns the text before the statement's main SELECT: its WITH. It returns "" where there is none, or where the
// outermost SELECT is inside the WITH.
func (r *comparisonReader) with(outermost int) string {
	if !r.at(0).Is("with") {
		return ""
	}
	for i, depth := 0, 0; i < len(r.tokens); i++ {
		if depth += nesting(r.tokens[i]); depth == 0 && r.tokens[i].Is("select") {
			if outermost < i {
				return "" // the outermost SELECT is inside the WITH
			}
			return r.sql[:r.tokens[i].Start]
		}
	}
	return ""
}

// behindTables holds the words that end the tables of a SELECT.
var behindTables = words("where group having order limit offset fetch union intersect except for window")

// tables returns the FROM of the SELECT at token i, and "" where it has none.
func (r *comparisonReader) tables(i int) string {
	from := -1
	for at, depth := i+1, 0; ; at++ {
		t := r.at(at)
		depth += nesting(t)
		ends := t.Kind == 0 || depth < 0 || depth == 0 && (t.Is(";") || t.Kind == Word && behindTables[t.Name()])
		switch {
		case ends && from < 0:
			return ""
		case ends:
			return r.sql[r.tokens[from].Start:r.at(at-1).End()]
		case depth == 0 && t.Is("from") && from < 0:
			from = at
		}
	}
}

func nesting(t Token) int {
	switch {
	case t.Is("("):
		return 1
	case t.Is(")"):
		return -1
	}
	return 0
}

// Declare returns a statement with separate parameters for the built-in times that the SQL compares with one of the
// columns. Such a parameter is called now.created, for example, and its value has the form of the column. The SQL may
// compare such a column under the name that it has before AS in the SELECT list. A time that is part of a calculation
// cannot have the form, and is a fault.
func (s *Statement) Declare(columns []string) (*Statement, []Fault) {
	if len(columns) == 0 {
		return s, nil
	}
	tokens, _ := Lex(s.Text)
	names := map[string]string{}
	for i, t := range tokens {
		if i > 1 && tokens[i-1].Is("as") && tokens[i-2].Name() != "" {
			names[strings.ToLower(tokens[i-2].Name())] = strings.ToLower(t.Name())
		}
	}
	declared := map[string]bool{}
	for _, c := range columns {
		declared[c] = true
	}
	forms := map[int]string{}
	var faults []Fault
	for _, c := range s.Comparisons() {
		column := c.Name
		if !declared[column] {
			column = names[column]
		}
		switch {
		case !declared[column]:
		case c.computed:
			faults = append(faults, faultAt(s.Text, c.start, CodeParameter,
				fmt.Sprintf(":%s cannot get the form of %s inside a calculation", c.Param, c.Column), "compare the column with :"+c.Param+" alone"))
		default:
			forms[c.start] = column
		}
	}
	return cut(s.Text, tokens, forms), faults
}

// Formed splits the name of a parameter that Declare has made, such as now.created.
func Formed(param string) (name, column string, ok bool) { return strings.Cut(param, ".") }
