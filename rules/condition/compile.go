package condition

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/builtin"

	"tallyman/rules/row"
)

// maxParts is the most parts of an expression. It bounds the time of one evaluation, because a part is evaluated at
// most twice. The length of the source is no such bound, because the parser uses the middle of a < b < c twice.
const maxParts = 5000

// compiler turns the parser's tree into closures over a frame, bottom up. It collects every fault.
type compiler struct {
	src     []rune
	columns []row.Column
	vars    map[string]operand // The variables of let that are in scope.
	used    map[int]struct{}   // The columns that the expression reads.
	slots   int
	parts   int
	regexps int   // The instructions of all regular expressions so far.
	folding frame // For constant parts. All constant parts together may cost as much as one evaluation.
	faults  []*Error

	result   bool      // The expression is over a result, not over a row.
	elements []operand // The element of each predicate around the node, the innermost last. # means the last.
}

// Each of these types is the compiler with the methods for one kind of nodes.
type (
	operatorCompiler struct{ *compiler }
	functionCompiler struct{ *compiler }
	memberCompiler   struct{ *compiler }
)

func (c *compiler) operators() operatorCompiler { return operatorCompiler{c} }
func (c *compiler) functions() functionCompiler { return functionCompiler{c} }
func (c *compiler) members() memberCompiler     { return memberCompiler{c} }

func newCompiler(src string, columns []row.Column) *compiler {
	return &compiler{
		src: []rune(src), columns: columns, vars: map[string]operand{}, used: map[int]struct{}{},
		folding: frame{most: &rowBounds},
	}
}

// finish compiles the whole expression, and checks that its result is a single value.
func (c *compiler) finish(node ast.Node) (*Program, error) {
	root := c.compile(node)
	switch {
	case root.bad:
	case root.shape == list || root.shape == records:
		c.fail(root.offset, CodeType, "an expression cannot give "+describe(root), "take an element, its len(), or use in")
	case root.shape == record:
		c.fail(root.offset, CodeType, "an expression cannot give a row", "take one of its columns, as in rows[0]."+c.anyColumn())
	}
	if err := c.err(); err != nil {
		return nil, err
	}
	return c.program(root), nil
}

func (c *compiler) fail(offset int, code Code, message, hint string) {
	c.faults = append(c.faults, &Error{Offset: offset, Code: code, Message: message, Hint: hint})
}

func (c *compiler) unsupported(offset int, message, hint string) operand {
	c.fail(offset, CodeUnsupported, message, hint)
	return broken(offset)
}

func (c *compiler) err() error { return join(c.faults) }

// compile compiles a node. It marks a part with faults as bad, and never evaluates such a part.
func (c *compiler) compile(node ast.Node) operand {
	if node == nil {
		c.fail(0, CodeSyntax, "the expression cannot be read", "")
		return broken(0)
	}
	at := node.Location().From
	if c.parts++; c.parts > maxParts {
		if c.parts == maxParts+1 {
			c.fail(at, CodeUnsupported, "the expression has more than "+strconv.Itoa(maxParts)+" parts", "do more of it in SQL")
		}
		return broken(at)
	}
	switch n := node.(type) {
	case *ast.NilNode:
		o := constOp(row.Value{}, at)
		o.isNil = true
		return o
	case *ast.BoolNode:
		return constOp(row.BoolOf(n.Value), at)
	case *ast.IntegerNode:
		return literalOf(row.IntOf(int64(n.Value)), at)
	case *ast.FloatNode:
		return literalOf(c.written(n.Value, at), at)
	case *ast.StringNode:
		return constOp(row.TextOf(n.Value), at)
	case *ast.BytesNode:
		return constOp(row.BytesOf(string(n.Value)), at)
	case *ast.IdentifierNode:
		return c.identifier(n)
	case *ast.UnaryNode:
		if n.Operator == "not" || n.Operator == "!" {
			return c.operators().not(n)
		}
		return c.operators().signed(n)
	case *ast.BinaryNode:
		return c.binary(n)
	case *ast.ConditionalNode:
		return c.operators().conditional(n)
	case *ast.ArrayNode:
		return c.operators().array(n)
	case *ast.MemberNode:
		return c.members().member(n)
	case *ast.ChainNode:
		return c.compile(n.Node) // ?. needs no code of its own, since a member of NULL is always NULL
	case *ast.SliceNode:
		return c.members().slice(n)
	case *ast.BuiltinNode:
		return c.functions().call(n)
	case *ast.PointerNode:
		return c.members().pointer(n)
	case *ast.CallNode:
		return c.functions().callOther(n)
	case *ast.VariableDeclaratorNode:
		return c.let(n)
	case *ast.MapNode:
		return c.unsupported(at, "maps have no use in a condition", "")
	}
	return c.unsupported(at, "this has no use in a condition", "")
}

func (c *compiler) binary(n *ast.BinaryNode) operand {
	switch op := n.Operator; op {
	case "and", "&&":
		return c.operators().logic(n, true)
	case "or", "||":
		return c.operators().logic(n, false)
	case "??":
		return c.operators().coalesce(n)
	case "==", "!=", "<", "<=", ">", ">=":
		return c.operators().comparison(n)
	case "in":
		return c.operators().in(n)
	case "contains", "startsWith", "endsWith":
		return c.operators().search(n)
	case "matches":
		return c.operators().matches(n)
	case "..":
		return c.unsupported(n.Location().From, "a range stands only to the right of in", "write x in 1..10")
	}
	return c.operators().arithmetic(n)
}

// written returns the exact value of the number at the place in the source. f is the parser's float for it.
func (c *compiler) written(f float64, at int) row.Value {
	end := at
	for end < len(c.src) {
		r := c.src[end]
		exponentSign := (r == '+' || r == '-') && end > at && (c.src[end-1] == 'e' || c.src[end-1] == 'E')
		if (r < '0' || r > '9') && !strings.ContainsRune("._eE", r) && !exponentSign {
			break
		}
		end++
	}
	text := strings.ReplaceAll(string(c.src[at:end]), "_", "")
	if v, err := row.ParseDecimal(text); err == nil && floatOf(v) == f {
		return v
	}
	v, err := row.ParseDecimal(strconv.FormatFloat(f, 'g', -1, 64))
	if err != nil {
		return row.FloatOf(f)
	}
	return v
}

func (c *compiler) identifier(n *ast.IdentifierNode) operand {
	at := n.Location().From
	if v, ok := c.vars[n.Value]; ok {
		v.offset = at
		return v
	}
	if c.result {
		if v, ok := resultVariable(n.Value, at); ok {
			return v
		}
	} else if i := row.Index(c.columns, n.Value); i >= 0 {
		return c.column(i, at)
	}
	c.unknownName(n.Value, at)
	return broken(at)
}

// column makes an operand that reads a column of the frame's row.
func (c *compiler) column(i, at int) operand {
	c.used[i] = struct{}{}
	kind := c.kindOf(i)
	o := valueOp(kind, at, func(f *frame) row.Value { return f.row.Values[i] })
	o.column = i
	if kind == row.Int || kind == row.Decimal {
		o.small = smallColumn(i)
	}
	return o
}

// kindOf returns the kind of a column's values. A column without a declared type has the kind JSON, because the kinds
// of its values are known only at run time.
func (c *compiler) kindOf(i int) row.Kind {
	if k := c.columns[i].Kind; k != row.Null {
		return k
	}
	return row.JSON
}

func (c *compiler) unknownName(name string, at int) {
	_, function := builtin.Index[name]
	switch {
	case name == "$env":
		c.unsupported(at, "$env has no use in a condition", "name the column")
	case c.result && row.Index(c.columns, name) >= 0:
		n := len(c.elements)
		c.faults = append(c.faults, aloneFault(name, at, n > 0 && c.elements[n-1].shape == record))
	case function:
		call := name + "(…)"
		if fn := findFunction(name); fn != nil && (fn.params == "" || fn.params[0] == '?') {
			call = name + "()"
		}
		c.fail(at, CodeUnknownName, "there is no column "+name+"; "+name+" is a function", "call it: "+call)
	case c.result:
		c.fail(at, CodeUnknownName, "there is no variable "+name, suggest(name, c.names(resultNames...), "variables"))
	case slices.Contains(resultNames, name):
		c.fail(at, CodeUnknownName, "there is no column "+name, "rows and row_count belong to per: result")
	default:
		c.fail(at, CodeUnknownName, "there is no column "+name, suggest(name, c.names(c.columnNames()...), "columns"))
	}
}

// names returns the names in others and the variables of let, sorted.
func (c *compiler) names(others ...string) []string {
	return slices.Sorted(slices.Values(append(slices.Collect(maps.Keys(c.vars)), others...)))
}

func (c *compiler) columnNames() []string {
	names := make([]string, len(c.columns))
	for i := range c.columns {
		names[i] = c.columns[i].Name
	}
	return names
}

// let compiles a variable. It keeps the value in a slot, so that the value is evaluated once.
func (c *compiler) let(n *ast.VariableDeclaratorNode) operand {
	at := n.Location().From
	_, declared := c.vars[n.Name]
	_, function := builtin.Index[n.Name]
	taken := row.Index(c.columns, n.Name) >= 0
	if c.result {
		taken = slices.Contains(resultNames, n.Name)
	}
	if declared || function || taken {
		c.fail(at, CodeType, n.Name+" is taken already", "choose another name for the variable")
		return broken(at)
	}
	v := c.compile(n.Value)
	variable := v
	if !v.constant && !v.bad {
		variable = c.slot(v)
	}
	variable.column = -1
	c.vars[n.Name] = variable
	body := c.compile(n.Expr)
	delete(c.vars, n.Name)
	if v.constant || v.bad || body.bad {
		return body
	}
	return bindVariable(variable, v, body)
}
