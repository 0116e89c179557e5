package condition

import (
	"fmt"

	"github.com/cockroachdb/apd/v3"

	"tallyman/rules/row"
)

// shape tells how an operand gives its value.
type shape uint8

const (
	scalar  shape = iota // the field val gives the value
	list                 // the field list gives the elements; kind is the kind of the elements
	tree                 // the field tree gives a decoded JSON value, and val its scalar; kind is row.JSON
	record               // the field rec gives a row of a result, or nil for a row that does not exist; kind is rowKind
	records              // the field rows gives rows of a result; kind is rowKind
)

// rowKind is the kind of rows. No value has this kind.
const rowKind row.Kind = 0xff

// operand is a compiled part of an expression.
type operand struct {
	shape  shape
	kind   row.Kind // The kind of its values that are not NULL. row.Null means that the value is always NULL.
	offset int      // The place in the source, in characters.

	val   func(*frame) row.Value
	cond  func(*frame) truth // For a Bool: a cheaper form of val, or nil.
	small smallNumber        // For an Int or a Decimal: a cheaper form of val, or nil.
	list  func(*frame) []row.Value
	tree  func(*frame) any
	rec   func(*frame) *row.Row
	rows  func(*frame) []*row.Row
	items []operand // For a list such as [1, 2]: its elements.

	constant bool // val needs no row. Its result is value.
	value    row.Value
	// literal tells that the operand is a number as its author wrote it. value holds it exactly. kind is the kind of
	// the number alone; beside a decimal the number counts as a decimal.
	literal bool
	isNil   bool // The operand is the word nil.
	column  int  // The position of the column that the operand is, or -1.
	slot    int  // For a variable: its slot in the frame.
	current bool // For a record: it is the row that the predicate around it looks at.
	bad     bool // The operand has a fault, which is reported already.
}

// broken makes the operand for a part whose fault is reported already.
func broken(offset int) operand {
	return operand{bad: true, offset: offset, column: -1}
}

func valueOp(kind row.Kind, offset int, val func(*frame) row.Value) operand {
	return operand{kind: kind, offset: offset, column: -1, val: val}
}

func condOp(offset int, cond func(*frame) truth) operand {
	return operand{kind: row.Bool, offset: offset, column: -1, cond: cond, val: func(f *frame) row.Value { return cond(f).value() }}
}

func constOp(v row.Value, offset int) operand {
	return operand{
		kind: v.Kind(), offset: offset, column: -1, constant: true, value: v,
		val: func(*frame) row.Value { return v }, small: smallConstant(v),
	}
}

// literalOf makes a literal. exact is an Int or a Decimal. A Decimal alone counts as a float.
func literalOf(exact row.Value, offset int) operand {
	o := constOp(exact, offset)
	o.literal = true
	if exact.Kind() == row.Decimal {
		o.kind, o.small = row.Float, nil
		f := row.FloatOf(floatOf(exact))
		o.val = func(*frame) row.Value { return f }
	}
	return o
}

// exact returns the operand for a place where a decimal may stand. A literal gives its exact value there.
func (o operand) exact() operand {
	if o.literal {
		return constOp(o.value, o.offset)
	}
	return o
}

// plain returns the operand for a place where a literal has its own kind.
func (o operand) plain() operand {
	if o.literal && o.kind == row.Float {
		return constOp(o.val(nil), o.offset)
	}
	o.literal = false
	return o
}

// truth returns the operand as a condition in three-valued logic.
func (o operand) truth() func(*frame) truth {
	if o.cond != nil {
		return o.cond
	}
	val, offset := o.val, o.offset
	if o.column >= 0 && o.kind == row.Bool {
		i := o.column
		return func(f *frame) truth { return truthOf(f.row.Values[i]) }
	}
	return func(f *frame) truth {
		v := val(f)
		if k := v.Kind(); k != row.Bool && k != row.Null {
			f.fail(offset, "the value is %s, not a bool", k)
			return unknown
		}
		return truthOf(v)
	}
}

// fold evaluates the operand at once where all its parts are constant.
func (c *compiler) fold(o operand, parts ...operand) operand {
	if o.bad || o.shape != scalar {
		return o
	}
	for _, p := range parts {
		if !p.constant {
			return o
		}
	}
	c.folding.err = nil
	v := o.val(&c.folding)
	if err := c.folding.err; err != nil {
		c.fail(o.offset, CodeType, err.Error(), "")
		return broken(o.offset)
	}
	folded := constOp(v.Clone(), o.offset)
	folded.kind = o.kind
	return folded
}

// commonOperands are several operands, converted to one kind.
type commonOperands struct {
	kind  row.Kind
	parts []operand
}

// unify converts operands that stand for each other (branches, elements, defaults) to one kind, without changing a
// value. Beside a decimal, ints and floats become decimals. Beside a float, ints become floats.
func (c *compiler) unify(at int, what string, parts ...operand) (commonOperands, bool) {
	kind := row.Null
	for _, p := range parts {
		if p.shape == list || p.kind == rowKind {
			c.fail(p.offset, CodeUnsupported, describe(p)+" cannot stand here", "")
			return commonOperands{}, false
		}
		joined, ok := join2(kind, p)
		if !ok {
			c.fail(at, CodeType, fmt.Sprintf("%s are %s and %s", what, kind, p.kind), "convert the values to one kind, as with float(…) or string(…)")
			return commonOperands{}, false
		}
		kind = joined
	}
	u := commonOperands{kind: kind, parts: make([]operand, len(parts))}
	for i, p := range parts {
		u.parts[i] = p.as(kind)
	}
	return u, true
}

func join2(kind row.Kind, p operand) (row.Kind, bool) {
	k := p.kind
	switch {
	case kind == row.Null || kind == k:
		return k, true
	case k == row.Null:
		return kind, true
	case kind == row.JSON || k == row.JSON:
		return row.JSON, true
	case kind.IsNumber() && k.IsNumber():
		if kind == row.Decimal || k == row.Decimal {
			return row.Decimal, true
		}
		return row.Float, true
	case isInstant(kind) && isInstant(k):
		return row.Time, true
	}
	return 0, false
}

func isInstant(k row.Kind) bool { return k == row.Time || k == row.Date }

// as returns the operand with its values converted to kind. unify has checked that the kind can hold them.
func (o operand) as(kind row.Kind) operand {
	if kind == row.Decimal || kind == row.JSON {
		o = o.exact()
	} else {
		o = o.plain()
	}
	if o.kind == kind || o.kind == row.Null || kind == row.JSON {
		return o
	}
	val, from := o.val, o
	o = valueOp(kind, o.offset, func(f *frame) row.Value { return convert(val(f), kind) })
	if from.constant {
		return constOp(convert(from.value, kind), o.offset)
	}
	return o
}

// convert changes the kind of a value. The value itself stays the same, as far as the kind can hold it.
func convert(v row.Value, kind row.Kind) row.Value {
	switch {
	case v.IsNull() || v.Kind() == kind:
		return v
	case kind == row.Float:
		return row.FloatOf(floatOf(v))
	case kind == row.Decimal:
		return decimalOf(v)
	case kind == row.Time && v.Kind() == row.Date:
		return row.TimeOf(v.Time())
	}
	return v
}

// decimalOf returns a number as a decimal with exactly the same value.
func decimalOf(v row.Value) row.Value {
	if n, scale, ok := v.Unscaled(); ok {
		return row.DecimalOf(n, scale)
	}
	if v.Kind() == row.Decimal {
		return v
	}
	return row.NormalDecimalOf(v.Apd(new(apd.Decimal)))
}
