package condition

import (
	"fmt"

	"github.com/cockroachdb/apd/v3"

	"tallyman/rules/row"
)

// unified is several operands brought to one kind.
type unified struct {
	kind  row.Kind
	parts []operand
}

// unify brings operands that stand for each other (branches, elements, defaults) to one kind, in which no
// value changes: ints and floats beside a decimal become decimals, ints beside a float floats.
func (c *compiler) unify(at int, what string, parts ...operand) (unified, bool) {
	kind := row.Null
	for _, p := range parts {
		if p.shape == list || p.kind == rowKind {
			c.fail(p.offset, CodeUnsupported, describe(p)+" cannot stand here", "")
			return unified{}, false
		}
		joined, ok := join2(kind, p)
		if !ok {
			c.fail(at, CodeType, fmt.Sprintf("%s are %s and %s", what, kind, p.kind), "bring them to one kind")
			return unified{}, false
		}
		kind = joined
	}
	u := unified{kind: kind, parts: make([]operand, len(parts))}
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
