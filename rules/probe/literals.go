package probe

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// LiteralComparison is a place where a statement compares a column with a literal: price > 100.
type LiteralComparison struct {
	Column    string // as it is written, with what stands before it: m.price
	Questions []string
	Literal   string // a number with its sign, or what stands between the quotes of a text
	IsText    bool
	IsOrder   bool // <, <=, >, >= and BETWEEN
	IsNot     bool // <>, != and NOT IN
	At        int  // where the literal stands in the text, in characters from 1
}

// Literals returns the comparisons of columns with literals, each of which stands beside the other, also in the list of an IN. A side that is calculated,
// cast or collated is none, nor is a comparison in HAVING, GROUP BY or ORDER BY, where a name may be that of a result.
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

// read looks at both sides of the literal at token i.
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

// before finds the comparison that ends right before token i: where it begins, and what it is. The list of an IN belongs to it.
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

// isOperand tells whether a value ends with the token, so that a sign behind it calculates.
func isOperand(t Token) bool {
	return t.Kind == Number || t.Kind == String || t.Kind == Param || t.Kind == Quoted || t.Is(")") || t.Is("]") || t.Kind == Word && !behindSign[t.Name()]
}

// behindSign holds the words behind which a sign begins a number.
var behindSign = words("and between in not or when then else where on select")

// text is that of the tokens from one to another.
func (r *literalReader) text(from, to int) string {
	var b strings.Builder
	for _, t := range r.tokens[from:to] {
		b.WriteString(t.Text)
	}
	return b.String()
}

// namesResults tells whether token i stands in a clause where a name may be that of a result.
func (r *literalReader) namesResults(i int) bool {
	for depth := 0; i >= 0; i-- {
		depth -= nesting(r.at(i))
		if depth < 0 {
			depth = 0 // out of a parenthesis, into the clause around it
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

// isAlias tells whether the statement gives the name to a result that is not the column of that name.
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

// add notes that the literal at token i, which begins at token begin, is compared with the name of the tokens from one to another.
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
		c.Questions = c.Questions[:1] // what the select itself does not have may be a result, and no column of a select around it
	}
	if c.IsText {
		c.Literal = strings.ReplaceAll(c.Literal[1:len(c.Literal)-1], "''", "'")
	}
	r.literals = append(r.literals, c)
}
