package sqlite

import (
	"strings"

	"tallyman/rules/probe"
)

// resultList is the select list of a statement.
type resultList struct {
	items [][]probe.Token // by column; nil for a column that comes from a *
	end   int             // the byte where the list ends
}

// selectList finds the expressions behind the columns of a statement. They are in the list of its outermost SELECT, or
// of the first SELECT of a UNION. If there is no such list, the result is empty.
func selectList(sql string, columns int) resultList {
	tokens, _ := probe.Lex(sql)
	start := mainSelect(tokens)
	if start < 0 {
		return resultList{}
	}
	for start < len(tokens) && (tokens[start].Is("distinct") || tokens[start].Is("all")) {
		start++
	}
	end := listEnd(tokens, start)
	if end <= start {
		return resultList{}
	}
	items := split(tokens[start:end])
	result := resultList{items: make([][]probe.Token, columns), end: tokens[end-1].End()}
	for i := 0; i < len(items) && i < columns && !isStar(items[i]); i++ {
		result.items[i] = expression(items[i])
	}
	for i := 1; i <= len(items) && i <= columns && !isStar(items[len(items)-i]); i++ {
		result.items[columns-i] = expression(items[len(items)-i])
	}
	return result
}

// mainSelect returns the index after the outermost SELECT, or -1.
func mainSelect(tokens []probe.Token) int {
	depth := 0
	for i, t := range tokens {
		switch {
		case t.Is("("):
			depth++
		case t.Is(")"):
			depth--
		case depth == 0 && t.Is("values"):
			return -1
		case depth == 0 && t.Is("select") && (i == 0 || tokens[i-1].Is(")")):
			return i + 1
		}
	}
	return -1
}

var endsList = map[string]bool{
	"from": true, "where": true, "group": true, "having": true, "window": true, "order": true, "limit": true,
	"union": true, "intersect": true, "except": true, ";": true,
}

func listEnd(tokens []probe.Token, start int) int {
	depth := 0
	for i := start; i < len(tokens); i++ {
		t := tokens[i]
		switch {
		case t.Is("("):
			depth++
		case t.Is(")"):
			depth--
		case t.Is("from") && tokens[i-1].Is("distinct"): // IS DISTINCT FROM
		case depth == 0 && t.Kind != probe.Quoted && endsList[strings.ToLower(t.Text)]:
			return i
		}
	}
	return len(tokens)
}

// split splits tokens at the commas outside of parentheses.
func split(tokens []probe.Token) [][]probe.Token {
	var parts [][]probe.Token
	depth, from := 0, 0
	for i, t := range tokens {
		switch {
		case t.Is("("):
			depth++
		case t.Is(")"):
			depth--
		case depth == 0 && t.Is(","):
			parts = append(parts, tokens[from:i])
			from = i + 1
		}
	}
	return append(parts, tokens[from:])
}

func isStar(item []probe.Token) bool {
	return len(item) > 0 && item[len(item)-1].Is("*") && (len(item) == 1 || item[len(item)-2].Is("."))
}

// expression returns an item of the list without its alias.
func expression(item []probe.Token) []probe.Token {
	n := len(item)
	if n < 2 {
		return item
	}
	last, before := item[n-1], item[n-2]
	switch {
	case last.Kind != probe.Word && last.Kind != probe.Quoted || before.Is("."):
		return item
	case before.Is("as"):
		return item[:n-2]
	case last.Kind == probe.Word && endsExpression[last.Name()]:
		return item
	case before.Is(")"), before.Kind == probe.Number, before.Kind == probe.String, before.Kind == probe.Quoted, before.Is("end"):
		return item[:n-1]
	case before.Kind == probe.Word && !needsOperand[before.Name()]:
		return item[:n-1]
	}
	return item
}

// endsExpression has words that can end an expression, so they are no alias. needsOperand has words that need an
// operand after them.
var (
	endsExpression = map[string]bool{"end": true, "null": true, "isnull": true, "notnull": true, "true": true, "false": true}
	needsOperand   = map[string]bool{
		"and": true, "or": true, "not": true, "is": true, "in": true, "like": true, "glob": true, "match": true, "regexp": true,
		"between": true, "collate": true, "from": true, "over": true, "case": true, "when": true, "then": true, "else": true,
	}
)
