package condition

import (
	"time"

	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/file"
	"github.com/expr-lang/expr/parser/lexer"

	"tallyman/rules/row"
)

// Outcome is the result of a part of a condition for one row.
type Outcome uint8

// The outcomes.
const (
	Unreached Outcome = iota // the parts before it have decided the result
	False
	True
	Null
	Failed // the part cannot be judged for this row
)

// String returns the name that output uses.
func (o Outcome) String() string {
	return [...]string{"not reached", "false", "true", "null", "error"}[o]
}

// Part is a piece of a condition that is true or false by itself: the whole condition, or an operand of and, or, not
// or ? :.
type Part struct {
	Offset   int    // In characters from the start of the condition.
	Text     string // As written, without the brackets around it.
	Depth    int    // 0 for the whole condition.
	Constant bool   // The result is the same for every row.
}

// Parts is a condition that is split into its parts. Like a Program, it is not safe for concurrent use.
type Parts struct {
	list  []Part
	nodes []partNode // nodes[i] belongs to list[i].
}

// partNode says how to evaluate a part, and which parts it is made of.
type partNode struct {
	made    composition
	program *Program
	below   []int // The indices of the parts below it.
}

// composition says how a part is made of the parts below it.
type composition uint8

const (
	madeOfNothing composition = iota // the part has no parts below it
	madeByAnd                        // two or more parts
	madeByOr                         // two or more parts
	madeByNot
	madeByChoice // three parts: the test and the two branches
)

// NewParts splits a condition into its parts. Compile must accept the condition for the columns. A piece that cannot
// stand alone, such as the inside of a predicate, belongs to the part around it.
func NewParts(src string, columns []row.Column) (*Parts, error) {
	return newParts(src, columns, func(src string) (*Program, error) { return Compile(src, columns) })
}

// NewResultParts is NewParts for a condition that CompileResult accepts.
func NewResultParts(src string, columns []row.Column) (*Parts, error) {
	return newParts(src, resultVariables, func(src string) (*Program, error) { return CompileResult(src, columns) })
}

// List returns the parts in the order of the source. The whole condition comes first, and each part comes before the
// parts that it is made of.
func (p *Parts) List() []Part { return p.list }

// SetNow is Program.SetNow.
func (p *Parts) SetNow(t time.Time) {
	for _, n := range p.nodes {
		n.program.SetNow(t)
	}
}

// Outcomes returns the outcome of each part of List for the row, and an error for each part that failed. Both lists
// have the length of List.
func (p *Parts) Outcomes(r *row.Row) ([]Outcome, []error) {
	return p.outcomes(func(part *Program) (bool, error) { return part.Match(r) }, func(part *Program) (row.Value, error) { return part.Eval(r) })
}

// ResultOutcomes is Outcomes for parts of NewResultParts.
func (p *Parts) ResultOutcomes(rows []*row.Row) ([]Outcome, []error) {
	return p.outcomes(func(part *Program) (bool, error) { return part.MatchResult(rows) }, func(part *Program) (row.Value, error) { return part.EvalResult(rows) })
}

func (p *Parts) outcomes(match func(*Program) (bool, error), eval func(*Program) (row.Value, error)) ([]Outcome, []error) {
	w := &walker{parts: p, match: match, eval: eval, outcomes: make([]Outcome, len(p.list)), faults: make([]error, len(p.list))}
	w.walk(0)
	return w.outcomes, w.faults
}

// walker visits the parts in the order in which an evaluation does, so that it skips parts which an evaluation does not
// reach.
type walker struct {
	parts    *Parts
	match    func(*Program) (bool, error)
	eval     func(*Program) (row.Value, error)
	outcomes []Outcome
	faults   []error
}

func (w *walker) walk(i int) Outcome {
	n := &w.parts.nodes[i]
	w.outcomes[i], w.faults[i] = w.judge(n.program)
	visit := func(child int) Outcome { return w.walk(n.below[child]) }
	switch n.made {
	case madeByAnd, madeByOr:
		strong := False
		if n.made == madeByOr {
			strong = True
		}
		for k := range n.below {
			if o := visit(k); o == strong || o == Failed {
				break
			}
		}
	case madeByNot:
		visit(0)
	case madeByChoice:
		switch visit(0) {
		case True:
			visit(1)
		case False, Null:
			visit(2)
		case Unreached, Failed:
		}
	case madeOfNothing:
	}
	return w.outcomes[i]
}

func (w *walker) judge(p *Program) (Outcome, error) {
	v, err := w.eval(p)
	switch {
	case err != nil:
		return Failed, err
	case v.IsNull():
		return Null, nil
	case v.Kind() != row.Bool: // the value is from a JSON column
		_, err := w.match(p)
		return Failed, err
	case v.Bool():
		return True, nil
	}
	return False, nil
}

// mostParts is the largest number of parts into which a condition is split. Nobody reads a longer list.
const mostParts = 500

// splitter finds the parts. The parser's tree says how the condition is made, but not where an operand begins and ends.
// The splitter finds the ends in the tokens, from the outside in: an operand is everything on one side of its operator.
type splitter struct {
	src     []rune
	tokens  []lexer.Token
	parts   *Parts
	compile func(src string) (*Program, error)
}

// piece is a range of the tokens. to is the token after the range. lets holds the variables of let that the piece can
// use; they must stand before the piece when it is compiled.
type piece struct {
	from, to int
	lets     string
	node     ast.Node
}

// newParts splits src. A column hides the function of the same name; parse needs columns for this.
func newParts(src string, columns []row.Column, compile func(src string) (*Program, error)) (*Parts, error) {
	p, err := compile(src)
	if err != nil {
		return nil, err
	}
	s := &splitter{src: []rune(src), parts: &Parts{}, compile: compile}
	tree, err := parse(src, columns)
	if err == nil {
		s.tokens, err = lexer.Lex(file.NewSource(src))
	}
	if err != nil { // the condition has compiled, so it is one part
		s.add(p, 0, src, 0)
		return s.parts, nil //nolint:nilerr // a condition that cannot be taken apart is one part
	}
	if n := len(s.tokens); n > 0 && s.tokens[n-1].Is(lexer.EOF) {
		s.tokens = s.tokens[:n-1]
	}
	all := s.bare(piece{to: len(s.tokens), node: tree})
	i := s.add(p, s.tokens[all.from].From, s.text(all), 0)
	s.descend(i, all)
	return s.parts, nil
}

func (s *splitter) add(p *Program, offset int, text string, depth int) int {
	s.parts.list = append(s.parts.list, Part{Offset: offset, Text: text, Depth: depth, Constant: p.root.constant})
	s.parts.nodes = append(s.parts.nodes, partNode{program: p})
	return len(s.parts.list) - 1
}

// text returns the source of the piece.
func (s *splitter) text(p piece) string {
	return string(s.src[s.tokens[p.from].From:s.tokens[p.to-1].To])
}

// descend adds the parts below part i, whose tokens are the piece. Where one of these parts does not compile, it adds
// none.
func (s *splitter) descend(i int, p piece) {
	p = s.body(p)
	how, pieces := s.operands(p)
	if len(s.parts.list)+len(pieces) > mostParts {
		return
	}
	programs := make([]*Program, len(pieces))
	for k := range pieces {
		if pieces[k].from >= pieces[k].to {
			return // an operand is missing, as in a ?: b
		}
		pieces[k] = s.bare(pieces[k])
		program, err := s.compile(pieces[k].lets + s.text(pieces[k]))
		if err != nil || program.match == nil {
			return
		}
		programs[k] = program
	}
	s.parts.nodes[i].made = how
	for k, below := range pieces {
		j := s.add(programs[k], s.tokens[below.from].From, s.text(below), s.parts.list[i].Depth+1)
		s.parts.nodes[i].below = append(s.parts.nodes[i].below, j)
		s.descend(j, below)
	}
}

// bare returns the piece without the brackets that enclose it as a whole.
func (s *splitter) bare(p piece) piece {
	for p.to-p.from > 2 && s.tokens[p.from].Is(lexer.Bracket, "(") && s.closing(p.from) == p.to-1 {
		p.from++
		p.to--
	}
	return p
}

// closing returns the token that closes the bracket at i. It returns the number of tokens where there is none.
func (s *splitter) closing(i int) int {
	depth := 0
	for ; i < len(s.tokens); i++ {
		switch t := s.tokens[i]; {
		case t.Is(lexer.Bracket, "(", "[", "{"):
			depth++
		case t.Is(lexer.Bracket, ")", "]", "}"):
			if depth--; depth == 0 {
				return i
			}
		}
	}
	return i
}

// body returns the piece without the variables of let at its start. It adds them to lets.
func (s *splitter) body(p piece) piece {
	for {
		let, ok := p.node.(*ast.VariableDeclaratorNode)
		if !ok || !s.tokens[p.from].Is(lexer.Operator, "let") {
			return p
		}
		end := s.find(p, ";")
		if end < 0 || end+1 >= p.to {
			return p
		}
		p.lets += s.text(piece{from: p.from, to: end}) + "; "
		p.from, p.node = end+1, let.Expr
		p = s.bare(p)
	}
}

// find returns the first token of the piece that is the operator and is outside of brackets, or -1.
func (s *splitter) find(p piece, operator string) int {
	for i := p.from; i < p.to; i++ {
		switch t := s.tokens[i]; {
		case t.Is(lexer.Bracket, "(", "[", "{"):
			i = s.closing(i)
		case t.Is(lexer.Operator, operator):
			return i
		}
	}
	return -1
}

// operands cuts the piece at its outermost operator. `a and b and c` has three operands.
func (s *splitter) operands(p piece) (composition, []piece) {
	cut := func(from, to int, node ast.Node) piece { return piece{from: from, to: to, lets: p.lets, node: node} }
	switch n := p.node.(type) {
	case *ast.BinaryNode:
		how, ok := logical[n.Operator]
		at := s.at(p, n)
		if !ok || at < 0 || !s.tokens[at].Is(lexer.Operator, n.Operator) { // a < b < c is an `and` without a token
			return madeOfNothing, nil
		}
		return how, append(s.chain(how, cut(p.from, at, n.Left)), s.chain(how, cut(at+1, p.to, n.Right))...)
	case *ast.UnaryNode:
		if n.Operator != "not" && n.Operator != "!" || s.at(p, n) != p.from { // a not in b
			return madeOfNothing, nil
		}
		return madeByNot, []piece{cut(p.from+1, p.to, n.Node)}
	case *ast.ConditionalNode:
		first := s.find(p, "?")
		if !n.Ternary || first < 0 {
			return madeOfNothing, nil
		}
		second := s.otherwise(p, first)
		return madeByChoice, []piece{cut(p.from, first, n.Cond), cut(first+1, second, n.Exp1), cut(second+1, p.to, n.Exp2)}
	}
	return madeOfNothing, nil
}

var logical = map[string]composition{"and": madeByAnd, "&&": madeByAnd, "or": madeByOr, "||": madeByOr}

// chain returns the operands of the piece if its outermost operator is how, else the piece itself.
func (s *splitter) chain(how composition, p piece) []piece {
	if n, ok := p.node.(*ast.BinaryNode); ok && logical[n.Operator] == how {
		if same, pieces := s.operands(s.bare(p)); same == how {
			return pieces
		}
	}
	return []piece{p}
}

// at returns the token at the node's place, or -1 where the piece does not have it.
func (s *splitter) at(p piece, n ast.Node) int {
	for i := p.from; i < p.to; i++ {
		if s.tokens[i].From == n.Location().From {
			return i
		}
	}
	return -1
}

// otherwise returns the token of the colon that belongs to the question mark.
func (s *splitter) otherwise(p piece, question int) int {
	open := 0
	for i := question; i < p.to; i++ {
		switch t := s.tokens[i]; {
		case t.Is(lexer.Bracket, "(", "[", "{"):
			i = s.closing(i)
		case t.Is(lexer.Operator, "?"):
			open++
		case t.Is(lexer.Operator, ":"):
			if open--; open == 0 {
				return i
			}
		}
	}
	return p.to
}
