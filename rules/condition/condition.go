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

// Parse checks the syntax alone, for a rule whose source is out of reach. Its error is an *Error.
func Parse(src string) error {
	_, err := parse(src, nil)
	return err
}

// ParseResult is Parse for an expression over a result, in which columns stand behind a row.
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

// Compile checks src against the columns, whose names are folded. Its error is an *Error, or several
// of them joined (see Errors).
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
	match   func(*frame) truth // nil where the result is no Bool
	columns []int
	frame   frame
}

// Kind returns the kind of the result: row.Null where it is always NULL, row.JSON where it comes out of a
// JSON column and is known at run time only.
func (p *Program) Kind() row.Kind { return p.root.kind }

// Columns returns the positions of the columns that the expression reads, ascending.
func (p *Program) Columns() []int { return p.columns }

// SetNow sets what now() returns: the firing's scheduled time, so that a repeated firing judges
// alike. Without it a row whose evaluation comes to now() is an error.
func (p *Program) SetNow(t time.Time) { p.frame.now = t }

// Clone returns a Program for another goroutine, with the same now.
func (p *Program) Clone() *Program {
	c := *p
	c.frame = frame{most: p.frame.most, now: p.frame.now, slots: make([]variableSlot, len(p.frame.slots))}
	return &c
}

// Eval returns the result for the row, which has the columns that the program was compiled for. Its text
// may point into the row; whoever keeps it calls Clone. An error is an *Error: this row cannot be judged.
func (p *Program) Eval(r *row.Row) (row.Value, error) {
	p.frame.begin(r)
	return p.eval()
}

// EvalResult is Eval for a program of CompileResult. The rows have the columns that it was compiled for.
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

// Match tells whether the result is TRUE; NULL is not.
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

// Names returns the names in an expression that columns must have, in the order of the source and each once: for a rule whose columns are
// not known. members are those behind a point, as qty in rows[0].qty. Its error is an *Error.
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

// find collects the names of the tree, less those of variables and of functions that are called.
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
	taken   []string // by variables and calls
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

// once adds a name that the list does not have.
func once(list []string, name string) []string {
	if slices.Contains(list, name) {
		return list
	}
	return append(list, name)
}

// keywords are expr's words that can be no name. (Those with capitals cannot collide: names are folded.)
var keywords = []string{"not", "in", "or", "and", "matches", "contains", "let", "if", "else", "true", "false", "nil"}

// ColumnProblem tells why conditions cannot use a column of that name, or nil. The scanner folds
// names first.
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
