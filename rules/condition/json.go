package condition

import (
	"encoding/json"
	"strings"

	"tallyman/rules/row"
)

// decode returns the tree of a JSON text, in which numbers keep their digits.
func decode(f *frame, s string, at int) any {
	if !f.spend(4*len(s), at) {
		return nil
	}
	dec := json.NewDecoder(strings.NewReader(s))
	dec.UseNumber()
	var x any
	if err := dec.Decode(&x); err != nil || dec.More() {
		f.fail(at, "the text is not JSON")
		return nil
	}
	return x
}

// treeOf is an operand of kind JSON as a tree.
func (o operand) treeOf() func(*frame) any {
	if o.tree != nil {
		return o.tree
	}
	val, at := o.val, o.offset
	return func(f *frame) any {
		v := val(f)
		if v.Kind() == row.JSON {
			return decode(f, v.Text(), at)
		}
		if v.IsNull() {
			return nil
		}
		return v
	}
}

// treeOp makes an operand of a tree.
func treeOp(at int, get func(*frame) any) operand {
	return operand{shape: tree, kind: row.JSON, offset: at, column: -1, tree: get, val: func(f *frame) row.Value {
		return fromTree(f, get(f), at)
	}}
}

// fromTree returns what stands at a place of a tree as a value: objects and arrays as JSON.
func fromTree(f *frame, x any, at int) row.Value {
	switch x := x.(type) {
	case nil:
		return row.Value{}
	case row.Value:
		return x
	case bool:
		return row.BoolOf(x)
	case string:
		return row.TextOf(x)
	case json.Number:
		v, err := row.ParseDecimal(x.String())
		if err != nil {
			return f.fail(at, "%s", err)
		}
		if n, scale, ok := v.Unscaled(); ok && scale == 0 {
			return row.IntOf(n)
		}
		return v
	}
	text, err := json.Marshal(x)
	if err != nil || !f.spend(len(text), at) {
		return f.fail(at, "no JSON")
	}
	return row.JSONOf(string(text))
}

// values is an operand as a list: a list, or an array in a tree. It is nil for NULL.
func (o operand) values() func(*frame) []row.Value {
	if o.shape == list {
		return o.list
	}
	get, at := o.treeOf(), o.offset
	return func(f *frame) []row.Value {
		x := get(f)
		if x == nil {
			return nil
		}
		array, ok := x.([]any)
		if !ok {
			f.fail(at, "the value is no array")
			return nil
		}
		if !f.spend(len(array)*valueSize, at) {
			return nil
		}
		values := make([]row.Value, len(array))
		for i, item := range array {
			values[i] = fromTree(f, item, at)
		}
		return values
	}
}
