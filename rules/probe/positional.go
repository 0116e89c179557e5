package probe

import "strings"

const byName = "write parameters as :name"

// positional refuses the parameters of drivers (?, ?1, :1, $x, @p), because no rule gives them values. The lexer
// refuses $1 itself. PostgreSQL's operators ?, ?| and ?& stand between two operands, where no parameter can stand. @>
// and @@ are no parameters either.
func positional(sql string, tokens []Token) []Fault {
	c := &checker{sql: sql, tokens: tokens}
	brackets := 0
	for i, t := range tokens {
		next := c.at(i + 1)
		touchesNext := next.Start == t.End()
		touchesPrior := i > 0 && c.at(i-1).End() == t.Start
		switch {
		case t.Is("["):
			brackets++
		case t.Is("]"):
			brackets--
		case t.Is("?") && (next.Kind == Number && touchesNext || !c.isOperator(i)):
			c.fault(t, CodeParameter, "a parameter by position", byName)
		case t.Is(":") && brackets == 0 && next.Kind == Number && touchesNext && !c.at(i-1).Is(":"): // a[1:2] is a part of an array
			c.fault(t, CodeParameter, "a parameter by position", byName)
		case t.Is("$") && next.Kind == Word && touchesNext && !dollarWords[next.Name()]:
			c.fault(t, CodeParameter, "a parameter with a $", byName)
		case t.Is("@") && (next.Kind == Word || next.Kind == Quoted) && touchesNext &&
			(!touchesPrior || !c.isOperand(i-1) && !c.isSymbol(i-1, "<@~!&|#")):
			c.fault(t, CodeParameter, "a variable, or a parameter with an @", byName+"; for running values use row_number(), lag() or a WITH")
		}
	}
	return c.faults
}

// dollarWords are names of SQL Server that begin with $.
var dollarWords = words("action identity rowguid partition node_id edge_id from_id to_id")

// isOperator tells whether the ? at index i is an operator of PostgreSQL, or a part of such an operator.
func (c *checker) isOperator(i int) bool {
	first := i
	if c.isSymbol(i-1, "@") && c.at(i-1).End() == c.at(i).Start {
		first-- // @?
	}
	last := i
	for last-i < 2 && c.isSymbol(last+1, "|&#-") && c.at(last+1).Start == c.at(last).End() {
		last++ // ?|, ?&, ?-|
	}
	return c.isOperand(first-1) && c.beginsOperand(last+1)
}

func (c *checker) isSymbol(i int, of string) bool {
	t := c.at(i)
	return t.Kind == Symbol && strings.Contains(of, t.Text)
}

// isOperand tells whether the token at index i ends a value.
func (c *checker) isOperand(i int) bool {
	t := c.at(i)
	switch t.Kind {
	case Quoted, String, Number, Param:
		return true
	case Word:
		return c.at(i-1).Is(".") || !beforeOperand[t.Name()]
	case Colon, Symbol:
	}
	return t.Is(")") || t.Is("]")
}

// beginsOperand tells whether a value begins at the token at index i.
func (c *checker) beginsOperand(i int) bool {
	t := c.at(i)
	switch t.Kind {
	case Quoted, String, Number, Param:
		return true
	case Word:
		return !behindOperand[t.Name()]
	case Colon, Symbol:
	}
	return t.Is("(") || t.Is("?") // positional refuses that ? itself
}

// beforeOperand holds the words before a value.
var beforeOperand = words(`select distinct all any some where and or not on having by in like ilike rlike regexp glob similar to between then else when
	case limit offset top first next is escape values using from join as return interval similar match against div mod xor set binary
	except union intersect with fetch qualify`)

// behindOperand holds the words after a value.
var behindOperand = words(`from where and or group order having limit offset then else when end as is in like ilike between union except intersect
	asc desc nulls rows row on join left right inner full cross fetch for window collate escape at over filter into using div mod xor
	minute hour day month year second week quarter microsecond regexp rlike not`)
