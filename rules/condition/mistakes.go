package condition

import (
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/expr-lang/expr/ast"

	"tallyman/rules/problem"
	"tallyman/rules/row"
)

// This file handles mistakes that authors bring along from SQL, templates and input methods, and that expr's parser
// explains badly.

// CodeFullWidth is the code of a full-width character outside of texts.
const CodeFullWidth Code = problem.CodeFullWidth

// mistakes finds common mistakes before the expression is parsed. It returns nil where there are none.
func mistakes(src string) error {
	code := blankTexts(src)
	var faults []*Error
	for w, found := problem.FindFullWidth(code, 0); found; w, found = problem.FindFullWidth(code, w.Offset+1) {
		faults = append(faults, &Error{Offset: w.Offset, Code: CodeFullWidth, Message: w.Message(), Hint: w.Hint()})
	}
	text := string(code)
	at := func(i int) int { return utf8.RuneCountInString(text[:i]) }
	if i := strings.Index(text, "{{"); i >= 0 {
		faults = append(faults, &Error{Offset: at(i), Code: CodeSyntax, Message: "{{ }} belongs to titles and bodies", Hint: "a condition names a column as it is: qty < 0"})
	}
	if i := strings.Index(text, "<>"); i >= 0 {
		faults = append(faults, &Error{Offset: at(i), Code: CodeSyntax, Message: "unexpected <>", Hint: sqlHints["<>"]})
	}
	for _, m := range sqlList.FindAllStringSubmatchIndex(text, -1) {
		if list := []rune(src)[at(m[2]):at(m[3])]; strings.Contains(text[m[2]:m[3]], ",") {
			faults = append(faults, &Error{
				Offset: at(m[2]), Code: CodeSyntax, Message: "the list stands in round brackets",
				Hint: "write [" + strings.TrimSpace(string(list[1:len(list)-1])) + "]",
			})
		}
	}
	return join(faults)
}

// sqlList matches a list in the form of SQL: in (1, 2).
var sqlList = regexp.MustCompile(`(?i)\bin\s*(\([^()\[\]]*\))`)

// blankTexts returns the expression with blanks in the place of its texts and comments.
func blankTexts(src string) []rune {
	code := []rune(src)
	for i := 0; i < len(code); {
		end := i
		switch rest := string(code[i:min(i+2, len(code))]); {
		case strings.ContainsRune("\"'`", code[i]):
			end = endOfText(code, i)
		case rest == "//":
			for end < len(code) && code[end] != '\n' {
				end++
			}
		case rest == "/*":
			for end += 2; end < len(code) && (code[end] != '/' || code[end-1] != '*'); {
				end++
			}
			end++
		default:
			i++
		}
		for ; i < min(end, len(code)); i++ {
			code[i] = ' '
		}
	}
	return code
}

// endOfText returns the position after the closing quote of the text that begins at from. It returns the end of the
// code where there is no closing quote.
func endOfText(code []rune, from int) int {
	quote := code[from]
	for i := from + 1; i < len(code); i++ {
		switch {
		case code[i] == '\\' && quote != '`':
			i++
		case code[i] == quote:
			return i + 1
		}
	}
	return len(code)
}

// flagHint returns a hint for a comparison of a number column with true or false. Databases without booleans invite
// this mistake. flagHint also has a hint for the opposite: a column of true and false that is compared with a constant
// number or text.
func flagHint(n *ast.BinaryNode, l, r operand) string {
	if n.Operator != "==" && n.Operator != "!=" {
		return ""
	}
	nodes := []ast.Node{n.Left, n.Right}
	for i, pair := range [][2]operand{{l, r}, {r, l}} {
		number, flag := pair[0], pair[1]
		if column, is := nodes[1-i].(*ast.IdentifierNode); is && flag.kind == row.Bool && number.constant {
			return fmt.Sprintf("the column holds true and false: write `%s` or `not %[1]s`", column.Value)
		}
		if !number.kind.IsNumber() || !flag.constant || flag.kind != row.Bool {
			continue
		}
		if flag.value.Bool() == (n.Operator == "==") {
			return "the column holds numbers, not true and false: write != 0"
		}
		return "the column holds numbers, not true and false: write == 0"
	}
	return ""
}

// orderHint returns a hint for <, <=, > and >= between a text and a number. It does not propose quotes around the
// number, because the text "9.5" is greater than the text "100".
func orderHint(n *ast.BinaryNode, l, r operand) string {
	for _, pair := range [][2]operand{{l, r}, {r, l}} {
		if pair[0].kind == row.Text && !pair[0].constant && pair[1].kind.IsNumber() && n.Operator != "==" && n.Operator != "!=" {
			return "write float(…) around the text, or CAST it to a number in the SQL; as texts, 9.5 would be greater than 100"
		}
	}
	return ""
}
