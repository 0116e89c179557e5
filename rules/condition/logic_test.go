package condition_test

import (
	"testing"

	"pgregory.net/rapid"

	"tallyman/rules/condition"
	"tallyman/rules/row"
)

// formula is a reference of three-valued logic, written without the evaluator: nil is NULL.
type formula struct {
	src  string
	eval func(env [3]*bool) *bool
}

func and(a, b *bool) *bool {
	switch {
	case a != nil && !*a || b != nil && !*b:
		return new(false)
	case a == nil || b == nil:
		return nil
	}
	return new(true)
}

func not(a *bool) *bool {
	if a == nil {
		return nil
	}
	return new(!*a)
}

func or(a, b *bool) *bool { return not(and(not(a), not(b))) }

func equal(a, b *bool) *bool {
	if a == nil || b == nil {
		return nil
	}
	return new(*a == *b)
}

func formulas(depth int) *rapid.Generator[formula] {
	return rapid.Custom(func(t *rapid.T) formula {
		choice := rapid.IntRange(0, 8).Draw(t, "op")
		if depth == 0 {
			choice %= 3
		}
		switch choice {
		case 0, 1:
			i := rapid.IntRange(0, 2).Draw(t, "variable")
			return formula{string(rune('a' + i)), func(env [3]*bool) *bool { return env[i] }}
		case 2:
			name := rapid.SampledFrom([]string{"true", "false", "(nil ?? nil)"}).Draw(t, "constant")
			value := map[string]*bool{"true": new(true), "false": new(false)}[name]
			return formula{name, func([3]*bool) *bool { return value }}
		}
		x, y := formulas(depth-1).Draw(t, "x"), formulas(depth-1).Draw(t, "y")
		binary := func(op string, fn func(a, b *bool) *bool) formula {
			return formula{"(" + x.src + " " + op + " " + y.src + ")", func(env [3]*bool) *bool { return fn(x.eval(env), y.eval(env)) }}
		}
		switch choice {
		case 3:
			return binary("and", and)
		case 4:
			return binary("or", or)
		case 5:
			return binary("==", equal)
		case 6:
			return binary("!=", func(a, b *bool) *bool { return not(equal(a, b)) })
		case 7:
			return binary("??", func(a, b *bool) *bool {
				if a != nil {
					return a
				}
				return b
			})
		}
		return formula{"(not (" + x.src + "))", func(env [3]*bool) *bool { return not(x.eval(env)) }}
	})
}

func TestLogicAgainstReference(t *testing.T) {
	columns := []row.Column{{Name: "a", Kind: row.Bool}, {Name: "b", Kind: row.Bool}, {Name: "c", Kind: row.Bool}}
	rapid.Check(t, func(t *rapid.T) {
		f := formulas(4).Draw(t, "formula")
		p, err := condition.Compile(f.src, columns)
		if err != nil {
			t.Fatalf("%s: %v", f.src, err)
		}
		values := []*bool{nil, new(false), new(true)}
		r := row.New(columns)
		for n := range 27 {
			env := [3]*bool{values[n%3], values[n/3%3], values[n/9]}
			for i, b := range env {
				r.Values[i] = row.Value{}
				if b != nil {
					r.Values[i] = row.BoolOf(*b)
				}
			}
			want := f.eval(env)
			v, err := p.Eval(r)
			if err != nil || v.IsNull() != (want == nil) || want != nil && v.Bool() != *want {
				t.Fatalf("%s at %v: got %q %v", f.src, r.Values, v, err)
			}
			if ok, err := p.Match(r); err != nil || ok != (want != nil && *want) {
				t.Fatalf("%s at %v: matches %v, %v", f.src, r.Values, ok, err)
			}
		}
	})
}
