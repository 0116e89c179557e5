package condition

import (
	"fmt"
	"slices"
	"time"

	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/builtin"
	"github.com/expr-lang/expr/parser/utils"

	"tallyman/rules/row"
)

// Parse checks only the syntax, for a rule whose columns are not known. Its error is an *Error.
func Parse(src string) error {
	_, err := parse(src, nil)
	return err
}

// ParseResult is Parse for an expression over a result. Such an expression names columns only after a row, as in
// rows[0].qty.
func ParseResult(src string) error {
	tree, err := parse(src, resultVariables)
	if err != nil {
		return err
	}
	var faults []*Error
	seen := resultNames
	for _, id := range find(tree).names {
		if _, function := builtin.Index[id.Value]; !function && !slices.Contains(seen, id.Value) {
			faults = append(faults, aloneFault(id.Value, id.Location().From, false))
		}
		seen = append(slices.Clip(seen), id.Value)
	}
	return join(faults)
}

// Compile compiles src against the columns, whose names are in lower case. Its error is an *Error, or several joined
// errors (see Errors).
func Compile(src string, columns []row.Column) (*Program, error) {
	tree, err := parse(src, columns)
	if err != nil {
		return nil, err
	}
	c := newCompiler(src, columns)
	return c.finish(tree)
}

// CompileResult is Compile for an expression over a result as a whole. It sees `rows`, a list of rows with these
// columns, and `row_count`.
func CompileResult(src string, columns []row.Column) (*Program, error) {
	tree, err := parse(src, resultVariables)
	if err != nil {
		return nil, err
	}
	c := newCompiler(src, columns)
	c.result, c.folding.most = true, &resultBounds
	return c.finish(tree)
}

// Program is a compiled expression. It is not safe for concurrent use; each run makes its own with Clone.
type Program struct {
	root    operand
	match   func(*frame) truth // nil if the result can never be a bool
	columns []int
	frame   frame
}

// Kind returns the kind of the result. It is row.Null for a result that is always NULL. It is row.JSON for a result
// from a JSON column, whose kind is known only at run time.
func (p *Program) Kind() row.Kind { return p.root.kind }

// Columns returns the positions of the columns that the expression reads, ascending.
func (p *Program) Columns() []int { return p.columns }

// SetNow sets what now() returns. It should be the due time of the firing, so that a repeated firing judges in the same
// way. Without SetNow, a row whose evaluation calls now() is an error.
func (p *Program) SetNow(t time.Time) { p.frame.now = t }

// Clone returns a Program for another goroutine, with the same now.
func (p *Program) Clone() *Program {
	c := *p
	c.frame = frame{most: p.frame.most, now: p.frame.now, slots: make([]variableSlot, len(p.frame.slots))}
	return &c
}

// Eval returns the result for the row. The row must have the columns that the program was compiled for. A text of the
// result may point into the row, so a caller that keeps the result must Clone it. An error is an *Error, and means that
// the row cannot be judged.
func (p *Program) Eval(r *row.Row) (row.Value, error) {
	p.frame.begin(r)
	return p.eval()
}

// EvalResult is Eval for a program of CompileResult. The rows must have the columns that the program was compiled for.
func (p *Program) EvalResult(rows []*row.Row) (row.Value, error) {
	p.frame.begin(nil)
	p.frame.rows = rows
	return p.eval()
}

func (p *Program) eval() (row.Value, error) {
	f := &p.frame
	v := p.root.val(f)
	if f.err != nil {
		return row.Value{}, f.err
	}
	return v, nil
}

// Match tells whether the result for the row is true. NULL is not true.
func (p *Program) Match(r *row.Row) (bool, error) {
	p.frame.begin(r)
	return p.judge()
}

// MatchResult is Match for a program of CompileResult.
func (p *Program) MatchResult(rows []*row.Row) (bool, error) {
	p.frame.begin(nil)
	p.frame.rows = rows
	return p.judge()
}

func (p *Program) judge() (bool, error) {
	f := &p.frame
	if p.match == nil {
		return false, &Error{Offset: p.root.offset, Code: CodeType, Message: "the expression gives " + p.root.kind.String() + ", not a bool"}
	}
	t := p.match(f)
	if f.err != nil {
		return false, f.err
	}
	return t == yes, nil
}

// program makes the Program of a compiled tree.
func (c *compiler) program(root operand) *Program {
	p := &Program{root: root, frame: frame{most: &rowBounds, slots: make([]variableSlot, c.slots)}}
	if c.result {
		p.frame.most = &resultBounds
	}
	if root.kind == row.Bool || root.kind == row.Null || root.kind == row.JSON {
		p.match = root.truth()
	}
	for i := range c.used {
		p.columns = append(p.columns, i)
	}
	slices.Sort(p.columns)
	return p
}

// Names returns the columns that an expression needs, each once, in the order in which src names them. It serves rules
// whose columns are not known. members are the names after a point, such as qty in rows[0].qty. Its error is an *Error.
func Names(src string) (columns, members []string, err error) {
	tree, err := parse(src, nil)
	if err != nil {
		return nil, nil, err
	}
	f := find(tree)
	for _, id := range f.names {
		columns = once(columns, id.Value)
	}
	return columns, f.members, nil
}

// find collects the names in the tree, without the names of variables and of called functions.
func find(tree ast.Node) *finder {
	f := &finder{}
	ast.Walk(&tree, f)
	f.names = slices.DeleteFunc(f.names, func(id *ast.IdentifierNode) bool { return slices.Contains(f.taken, id.Value) })
	return f
}

// finder collects names.
type finder struct {
	names   []*ast.IdentifierNode
	members []string
	taken   []string // The names of variables and of called functions.
}

// Visit implements ast.Visitor.
func (f *finder) Visit(node *ast.Node) {
	switch n := (*node).(type) {
	case *ast.IdentifierNode:
		f.names = append(f.names, n)
	case *ast.VariableDeclaratorNode:
		f.taken = append(f.taken, n.Name)
	case *ast.CallNode:
		if id, ok := n.Callee.(*ast.IdentifierNode); ok {
			f.taken = append(f.taken, id.Value)
		}
	case *ast.MemberNode:
		if name, ok := n.Property.(*ast.StringNode); ok && !n.Method {
			f.members = once(f.members, name.Value)
		}
	}
}

// once appends a name, unless the list has it already.
func once(list []string, name string) []string {
	if slices.Contains(list, name) {
		return list
	}
	return append(list, name)
}

// keywords are words of expr that cannot be names. Words with capitals are left out, because names of columns are in
// lower case.
var keywords = []string{"not", "in", "or", "and", "matches", "contains", "let", "if", "else", "true", "false", "nil"}

// ColumnProblem returns why conditions cannot use a column with the name, or nil. The scanner has changed the name to
// lower case before.
func ColumnProblem(name string) error {
	switch {
	case name == "":
		return fmt.Errorf("a column has no name; give it one with AS")
	case !utils.IsValidIdentifier(name):
		return fmt.Errorf("column %q is no name that a condition can hold (letters, digits and _); rename it with AS", name)
	case slices.Contains(keywords, name):
		return fmt.Errorf("column %q is a word of the condition language; rename it with AS", name)
	}
	return nil
}
