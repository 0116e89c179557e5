package ruletest

import (
	"tallyman/rules"
	"tallyman/rules/catalog"
	"tallyman/rules/condition"
	"tallyman/rules/row"
)

// trusting is a catalogue that has just the type that a rule names, with the fields that the rule fills. Who names no catalogue has the
// notices tested, not whether they fit it.
func trusting(r *rules.Rule, columns []row.Column) catalog.Catalog {
	t := catalog.Type{
		Code: r.Notice.Type, ID: 1, Name: r.Notice.Type, Retention: catalog.DefaultRetention, Fields: map[string]catalog.Field{},
	}
	compile := condition.Compile
	if r.Per == rules.PerResult {
		compile = condition.CompileResult
	}
	for name, src := range r.Notice.Fields {
		kind := row.Null
		if p, err := compile(src, columns); err == nil { // what is wrong with it is told when the rule is compiled
			kind = p.Kind()
		}
		t.Fields[name] = catalog.Field{Type: fieldOf(kind)}
	}
	if r.Notice.Fields == nil && r.Per == rules.PerRow {
		for _, c := range columns {
			t.Fields[c.Name] = catalog.Field{Type: fieldOf(c.Kind)}
		}
	}
	return catalog.Catalog{t.Code: t}
}

// fieldOf is the type of field that tells values of a kind.
func fieldOf(kind row.Kind) catalog.FieldKind {
	switch kind {
	case row.Int:
		return catalog.Int
	case row.Decimal, row.Float:
		return catalog.Decimal
	case row.Bool:
		return catalog.Bool
	case row.Time, row.Date:
		return catalog.Time
	default:
		return catalog.String
	}
}
