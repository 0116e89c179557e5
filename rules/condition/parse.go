package condition

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/conf"
	"github.com/expr-lang/expr/file"
	"github.com/expr-lang/expr/parser"

	"tallyman/rules/row"
)

// maxSource is the most bytes of a source. It bounds the recursion of expr's parser, which has no limit of its own.
const maxSource = 16 << 10

// parse reads src. A column or a variable hides a builtin with the same name.
func parse(src string, columns []row.Column) (root ast.Node, err error) {
	switch {
	case len(src) > maxSource:
		return nil, &Error{Code: CodeSyntax, Message: fmt.Sprintf("the expression has %d bytes, more than %d", len(src), maxSource)}
	case !utf8.ValidString(src):
		return nil, &Error{Code: CodeSyntax, Message: "the expression is not valid UTF-8"}
	case strings.TrimSpace(src) == "":
		return nil, &Error{Code: CodeSyntax, Message: "the expression is empty"}
	}
	if err := mistakes(src); err != nil {
		return nil, err
	}
	// expr's parser goes on for a while after an error, and then uses nodes that it did not make. That panics.
	defer func() {
		if p := recover(); p != nil {
			root, err = nil, &Error{Code: CodeSyntax, Message: "the expression cannot be read"}
		}
	}()
	env := make(map[string]any, len(columns))
	for i := range columns {
		env[columns[i].Name] = nil
	}
	tree, err := parser.ParseWithConfig(src, parserConfig(env))
	if err != nil {
		return nil, syntaxError(src, err)
	}
	if tree.Node == nil {
		return nil, &Error{Code: CodeSyntax, Message: "the expression is empty"}
	}
	return tree.Node, nil
}

// bareConfig has expr's builtins. The parser only reads it, so all expressions share it.
var bareConfig = sync.OnceValue(conf.CreateNew)

// parserConfig does what conf.New does, but reuses the table of builtins. Making that table takes half the time of
// parsing a short expression.
func parserConfig(env map[string]any) *conf.Config {
	c := *bareConfig()
	c.WithEnv(env)
	return &c
}

// syntaxError translates an error of expr's parser into words for authors of rules.
func syntaxError(src string, err error) error {
	var at *file.Error
	if !errors.As(err, &at) {
		return &Error{Code: CodeSyntax, Message: err.Error()}
	}
	e := &Error{Offset: min(at.From, utf8.RuneCountInString(src)), Code: CodeSyntax, Message: at.Message}
	if strings.HasPrefix(e.Message, "invalid integer literal") {
		e.Offset = numberBefore([]rune(src), e.Offset)
		e.Message = "the number is beyond the range of an int"
		e.Hint = "with a point (….0) it is a decimal of any size"
		return e
	}
	token, found := strings.CutPrefix(e.Message, "unexpected token ")
	if !found {
		return e
	}
	if token == "EOF" {
		e.Offset = utf8.RuneCountInString(strings.TrimSpace(src))
		e.Message = "the expression ends too early"
		return e
	}
	if _, quoted, ok := strings.Cut(token, "("); ok {
		token = strings.TrimSuffix(quoted, ")")
	}
	e.Message = "unexpected " + token
	e.Hint = sqlHints[strings.ToLower(strings.Trim(token, `"`))]
	if hint, ok := sqlFunctions[strings.ToLower(callAround([]rune(src), e.Offset))]; ok {
		e.Hint = hint
	}
	return e
}

// callAround returns the name of the function in whose arguments the place is, or "".
func callAround(src []rune, at int) string {
	open := 0
	for at = min(at, len(src)) - 1; at >= 0 && open <= 0; at-- {
		switch src[at] {
		case '(':
			open++
		case ')':
			open--
		}
	}
	end := at + 1
	for at >= 0 && (src[at] == '_' || unicode.IsLetter(src[at])) {
		at--
	}
	if open <= 0 {
		return ""
	}
	return string(src[at+1 : end])
}

// numberBefore finds the place of a number that the parser has refused. The parser names a place after the number.
func numberBefore(src []rune, at int) int {
	digit := func(i int) bool { return i >= 0 && (src[i] >= '0' && src[i] <= '9' || src[i] == '_') }
	if at == len(src) || !digit(at) {
		at--
	}
	for at > 0 && !digit(at) {
		at--
	}
	for digit(at - 1) {
		at--
	}
	return max(at, 0)
}

// sqlHints holds hints for words and operators of SQL.
var sqlHints = map[string]string{
	".":       "a column behind a point stands in the predicate of any, all, none, one, count, sum, map, filter or find, as in any(rows, .qty < 0)",
	"=":       "write == to compare",
	"<>":      "write != for not equal",
	"and":     "operators are lower case: and",
	"or":      "operators are lower case: or",
	"not":     "operators are lower case: not",
	"in":      "operators are lower case, lists stand in brackets: x in [1, 2]",
	"is":      "write x == nil for IS NULL, x != nil for IS NOT NULL",
	"like":    "use startsWith, endsWith, contains or matches",
	"between": "write low <= x and x <= high, or x in low..high",
	"case":    "write test ? a : b",
}
