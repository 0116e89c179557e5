package probe

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// LiteralComparison is a place where a statement compares a column with a literal, such as price > 100.
type LiteralComparison struct {
	Column    string   // The column as it is written, with its table: m.price.
	Questions []string // As in Comparison.
	Literal   string   // A number with its sign, or a text without its quotes.
	IsText    bool
	IsOrder   bool // The operator is <, <=, >, >= or BETWEEN.
	IsNot     bool // The operator is <>, != or NOT IN.
	At        int  // The place of the literal in the text, in characters from 1.
}

// Literals returns the comparisons of columns with literals, also those in the list of an IN. Column and literal must
// stand directly beside the operator. It leaves out a side that is calculated, cast or collated. It also leaves out
// comparisons in HAVING, GROUP BY and ORDER BY, because a name there may be an alias of the SELECT list.
func (s *Statement) Literals() []LiteralComparison {
	tokens, _ := Lex(s.Text)
	r := &literalReader{comparisonReader: comparisonReader{checker: checker{sql: s.Text, tokens: tokens}}}
	for i, t := range tokens {
		if t.Kind == Number || t.Kind == String && strings.HasPrefix(t.Text, "'") {
			r.read(i)
		}
	}
	return r.literals
}

type literalReader struct {
	comparisonReader
	literals []LiteralComparison
}

// read looks for a comparison on both sides of the literal at token i.
func (r *literalReader) read(i int) {
	begin := i
	if sign := r.at(i - 1); r.at(i).Kind == Number && (sign.Is("-") || sign.Is("+")) && !isOperand(r.at(i-2)) {
		begin--
	}
	if calculates(r.at(i+1)) || r.at(i+1).Is("(") || r.namesResults(i) {
		return
	}
	if at, operator := r.before(begin); operator != "" {
		if from, ok := r.nameBefore(at); ok && !calculates(r.at(from-1)) {
			r.add(i, begin, from, at, operator)
		}
		return
	}
	if at, ok := r.operatorAfter(i); ok && !calculates(r.at(begin-1)) {
		if to, ok := r.nameAfter(at); ok && !calculates(r.at(to)) && !r.at(to).Is("(") {
			r.add(i, begin, at, to, r.text(i+1, at))
		}
	}
}

// before finds a comparison operator that ends right before token i. It returns the operator's first token and its
// text. For an item in the list of an IN or NOT IN, the token is IN or NOT, and the text is = or <>.
func (r *literalReader) before(i int) (at int, operator string) {
	if at, ok := r.operatorBefore(i); ok {
		if r.at(at).Is("not") || r.at(at).Is("between") {
			return at, "between"
		}
		return at, r.text(at, i)
	}
	for i--; r.at(i).Is(",") || r.at(i).Kind == Number || r.at(i).Kind == String || r.at(i).Is("-") || r.at(i).Is("+"); i-- {
	}
	switch {
	case !r.at(i).Is("(") || !r.at(i-1).Is("in"):
		return 0, ""
	case r.at(i - 2).Is("not"):
		return i - 2, "<>"
	}
	return i - 1, "="
}

// isOperand tells whether a value ends with the token. A sign after it is then an operator, and not a part of a number.
func isOperand(t Token) bool {
	return t.Kind == Number || t.Kind == String || t.Kind == Param || t.Kind == Quoted || t.Is(")") || t.Is("]") || t.Kind == Word && !behindSign[t.Name()]
}

// behindSign holds the words after which a sign begins a number.
var behindSign = words("and between in not or when then else where on select")

// text returns the text of the tokens from index from up to index to, without spaces.
func (r *literalReader) text(from, to int) string {
	var b strings.Builder
	for _, t := range r.tokens[from:to] {
		b.WriteString(t.Text)
	}
	return b.String()
}

// namesResults tells whether token i is in a clause where a name can be an alias of the SELECT list: HAVING, GROUP BY
// or ORDER BY.
func (r *literalReader) namesResults(i int) bool {
	for depth := 0; i >= 0; i-- {
		depth -= nesting(r.at(i))
		if depth < 0 {
			depth = 0 // the walk has left a parenthesis and is in the clause around it
		}
		switch t := r.at(i); {
		case depth > 0:
		case t.Is("having") || t.Is("group") || t.Is("order"):
			return true
		case t.Is("select") || t.Is("where") || t.Is("on"):
			return false
		}
	}
	return false
}

// isAlias tells whether the statement gives the name, with AS, to something other than the column with that name.
func (r *literalReader) isAlias(name string) bool {
	for i, t := range r.tokens {
		if strings.EqualFold(t.Name(), name) && r.at(i-1).Is("as") && !strings.EqualFold(r.at(i-2).Name(), name) {
			return true
		}
	}
	return false
}

var (
	orders   = []string{"<", "<=", ">", ">=", "between"}
	equals   = []string{"=", "==", "<=>"}
	unequals = []string{"<>", "!="}
)

// add records a comparison of the literal at token i with the name from token from to token to. The literal begins at
// token begin, which may be its sign.
func (r *literalReader) add(i, begin, from, to int, operator string) {
	isOrder, isNot := slices.Contains(orders, operator), slices.Contains(unequals, operator)
	if !isOrder && !isNot && !slices.Contains(equals, operator) {
		return
	}
	column := r.sql[r.tokens[from].Start:r.tokens[to-1].End()]
	c := LiteralComparison{
		Column: column, Questions: r.questions(i, column), Literal: r.text(begin, i+1), IsText: r.tokens[i].Kind == String, IsOrder: isOrder, IsNot: isNot,
		At: 1 + utf8.RuneCountInString(r.sql[:r.tokens[begin].Start]),
	}
	if len(c.Questions) > 1 && to == from+1 && r.isAlias(r.tokens[from].Name()) {
		// The name may be an alias of an inner SELECT list. An outer SELECT could then have another column with the
		// same name, and the answer would be about that column.
		c.Questions = c.Questions[:1]
	}
	if c.IsText {
		c.Literal = strings.ReplaceAll(c.Literal[1:len(c.Literal)-1], "''", "'")
	}
	r.literals = append(r.literals, c)
}
