package condition

import "tallyman/rules/row"

// slot makes a variable: an operand that reads a slot.
func (c *compiler) slot(v operand) operand {
	i := c.slots
	c.slots++
	variable := operand{shape: v.shape, kind: v.kind, column: -1, slot: i}
	variable.val = func(f *frame) row.Value { return f.slots[i].val }
	switch v.shape {
	case list:
		variable.list = func(f *frame) []row.Value { return f.slots[i].list }
	case tree:
		variable.tree = func(f *frame) any { return f.slots[i].tree }
	case record:
		variable.rec = func(f *frame) *row.Row { return f.slots[i].rec }
	case records:
		variable.rows = func(f *frame) []*row.Row { return f.slots[i].rows }
	case scalar:
	}
	return variable
}

// before fills the variable's slot with v and then evaluates body.
func before(variable, v, body operand) operand {
	i := variable.slot
	fill := func(f *frame) {
		s := &f.slots[i]
		switch v.shape {
		case list:
			s.list = v.list(f)
		case tree:
			s.tree, s.val = v.tree(f), v.val(f)
		case record:
			s.rec = v.rec(f)
		case records:
			s.rows = v.rows(f)
		case scalar:
			s.val = v.val(f)
		}
	}
	o := operand{shape: body.shape, kind: body.kind, offset: body.offset, column: -1}
	if body.val != nil {
		o.val = func(f *frame) row.Value { fill(f); return body.val(f) }
	}
	if body.list != nil {
		o.list = func(f *frame) []row.Value { fill(f); return body.list(f) }
	}
	if body.tree != nil {
		o.tree = func(f *frame) any { fill(f); return body.tree(f) }
	}
	if body.rec != nil {
		o.rec = func(f *frame) *row.Row { fill(f); return body.rec(f) }
	}
	if body.rows != nil {
		o.rows = func(f *frame) []*row.Row { fill(f); return body.rows(f) }
	}
	return o
}
