package condition

import (
	"fmt"

	"github.com/cockroachdb/apd/v3"

	"tallyman/rules/row"
)

// shape tells how an operand gives its value.
type shape uint8

const (
	scalar  shape = iota // val
	list                 // list; kind is the kind of the elements
	tree                 // tree, a decoded JSON value, and val, its scalar; kind is row.JSON
	record               // rec, a row of a result, nil where there is none; kind is rowKind
	records              // rows, rows of a result; kind is rowKind
)

// rowKind is the kind of rows, which no value has.
const rowKind row.Kind = 0xff

// operand is a compiled part of an expression.
type operand struct {
	shape  shape
	kind   row.Kind // of its values that are not NULL; row.Null: it is always NULL
	offset int      // in the source

	val   func(*frame) row.Value
	cond  func(*frame) truth // of a Bool, where that is cheaper than val
	small smallNumber        // of an Int or Decimal, where that is cheaper than val
	list  func(*frame) []row.Value
	tree  func(*frame) any
	rec   func(*frame) *row.Row
	rows  func(*frame) []*row.Row
	items []operand // of a list that is written out

	constant bool // val needs no row: its result is value
	value    row.Value
	// literal: a constant number as it is written, exact in value. Its kind is what it is by itself; beside
	// a decimal it is a decimal.
	literal bool
	isNil   bool // the word nil
	column  int  // the column that it is, or -1
	slot    int  // of a variable
	current bool // of a record: it is the row that the predicate around it looks at
	bad     bool // reported already
}

// broken stands for a part that has been reported.
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

// literalOf makes a number as it is written. exact is an Int or a Decimal; a Decimal is by itself a float.
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

// exact is the operand where a decimal may stand: a literal gives its exact value.
func (o operand) exact() operand {
	if o.literal {
		return constOp(o.value, o.offset)
	}
	return o
}

// plain is the operand where a literal counts by its own kind.
func (o operand) plain() operand {
	if o.literal && o.kind == row.Float {
		return constOp(o.val(nil), o.offset)
	}
	o.literal = false
	return o
}

// truth is the operand as a three-valued condition.
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

// fold evaluates the operand now where all the parts that it was made of are constant.
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

// commonOperands is several operands brought to one kind.
type commonOperands struct {
	kind  row.Kind
	parts []operand
}

// unify brings operands that stand for each other (branches, elements, defaults) to one kind, in which no
// value changes: ints and floats beside a decimal become decimals, ints beside a float floats.
func (c *compiler) unify(at int, what string, parts ...operand) (commonOperands, bool) {
	kind := row.Null
	for _, p := range parts {
		if p.shape == list || p.kind == rowKind {
			c.fail(p.offset, CodeUnsupported, describe(p)+" cannot stand here", "")
			return commonOperands{}, false
		}
		joined, ok := join2(kind, p)
		if !ok {
			c.fail(at, CodeType, fmt.Sprintf("%s are %s and %s", what, kind, p.kind), "bring them to one kind")
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

// as is the operand with its values as ones of kind, which unify has found to hold them.
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

// convert changes the kind of a value and not the value, as far as the kind can hold it.
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

// decimalOf returns a number as a decimal of exactly its value.
func decimalOf(v row.Value) row.Value {
	if n, scale, ok := v.Unscaled(); ok {
		return row.DecimalOf(n, scale)
	}
	if v.Kind() == row.Decimal {
		return v
	}
	return row.NormalDecimalOf(v.Apd(new(apd.Decimal)))
}
