package rules

import (
	"slices"

	"tallyman/rules/condition"
	"tallyman/rules/row"
)

// Uses says for each of the columns that the program was compiled with what reads it: the fields of the rule, in the order of the
// reference. A column that nothing reads is a question that the probe need not ask.
func (p *Program) Uses(columns []row.Column) [][]string {
	uses := make([][]string, len(columns))
	note := func(what string, at ...int) {
		for _, i := range at {
			if !slices.Contains(uses[i], what) {
				uses[i] = append(uses[i], what)
			}
		}
	}
	noteExpr := func(what string, e *condition.Program) {
		if e != nil {
			note(what, e.Columns()...)
		}
	}
	note("watermark", p.watermark...)
	noteExpr("when", p.when)
	note("key", p.key...)
	note("group_by", p.group...)
	noteExpr("warehouse", p.warehouse)
	noteExpr("priority", p.priority)
	p.noteTexts("title", p.rule.Notice.Title, columns, note)
	p.noteTexts("body", p.rule.Notice.Body, columns, note)
	for _, f := range p.fields {
		noteExpr("fields."+f.name, f.value)
	}
	for i, e := range p.deliver {
		what := "deliver." + p.rule.Deliver[i].Sink
		noteExpr(what+".at", e.at)
		noteExpr(what+".when", e.when)
	}
	return uses
}

func (p *Program) noteTexts(what string, byLanguage map[string]string, columns []row.Column, note func(string, ...int)) {
	for _, lang := range sortedKeys(byLanguage) {
		t, _ := parseText(p.rule, byLanguage[lang]) // sound, as the program was compiled
		for _, name := range t.Columns() {
			if i := row.Index(columns, name); i >= 0 {
				note(what, i)
			}
		}
	}
}
