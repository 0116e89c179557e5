package rules

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"tallyman/rules/probe"
	"tallyman/rules/problem"
	"tallyman/rules/strictyaml"
)

// builtins are the parameters that every probe may use without giving them a value; with a watermark there
// are :until and :wm_<column> too.
var builtins = []string{"now", "scheduled_at", "last_run_at", "scope"}

const watermarkPrefix = "wm_"

// paramPart is one map of parameters that an effective rule is made of, and the id of the rule it was
// written in; "" for the defaults.
type paramPart struct {
	node *strictyaml.Node
	rule string
}

// paramUse finds parameters that no probe uses. Parameters that several rules or scopes share, by defaults
// or by alias, are judged together: it is enough that one probe uses them.
type paramUse struct {
	keys []*strictyaml.Node
	rule map[*strictyaml.Node]string
	used map[*strictyaml.Node]bool
}

func newParamUse() *paramUse {
	return &paramUse{rule: map[*strictyaml.Node]string{}, used: map[*strictyaml.Node]bool{}}
}

// see notes one effective rule: the parts it is made of and which names its probe uses.
func (u *paramUse) see(parts []paramPart, uses func(name string) bool) {
	for _, part := range parts {
		if part.node == nil || part.node.Kind != strictyaml.Mapping {
			continue
		}
		for _, f := range part.node.Fields {
			if _, known := u.rule[f.Key]; !known {
				u.rule[f.Key] = part.rule
				u.keys = append(u.keys, f.Key)
			}
			if uses(f.Name) {
				u.used[f.Key] = true
			}
		}
	}
}

// unused reports what no probe used.
func (u *paramUse) unused(f *strictyaml.File) problem.List {
	var l problem.List
	for _, key := range u.keys {
		if u.used[key] {
			continue
		}
		p := f.Problem(key, CodeParamUnused, fmt.Sprintf("the SQL has no parameter :%s", key.Text), "remove the parameter, or use it")
		p.Rule = u.rule[key]
		l = append(l, p)
	}
	return l
}

// params checks the parameters that are given, and keeps those that the SQL uses. Their names are reported here, their use by paramUse.
func (v *validator) params(parts []paramPart, stmt *probe.Statement) {
	given := v.r.origin.at("probe.params", false)
	for _, name := range slices.Sorted(maps.Keys(v.r.Probe.Params)) {
		switch key := given.Field(name).Key; {
		case probe.Builtin(name):
			v.at(key, CodeParamReserved, fmt.Sprintf(":%s is built in", name), "choose another name")
		case !paramName.MatchString(name):
			v.at(key, CodeBadName, fmt.Sprintf("%q cannot name a parameter", name), "letters, digits and _, beginning with a letter")
		}
	}
	v.use.see(parts, func(name string) bool {
		return stmt == nil || probe.Builtin(name) || !paramName.MatchString(name) || slices.Contains(stmt.Params, name)
	})
	if stmt != nil {
		for _, name := range stmt.Params {
			if _, _, isForm := probe.Formed(name); !isForm && given.Field(name) == nil {
				v.missingParam(name)
			}
		}
		maps.DeleteFunc(v.r.Probe.Params, func(name string, _ any) bool { return !slices.Contains(stmt.Params, name) })
	}
}

// missingParam reports a :name of the SQL that has no value.
func (v *validator) missingParam(name string) {
	watermark := v.r.Probe.Watermark
	column, isMark := strings.CutPrefix(name, watermarkPrefix)
	switch {
	case slices.Contains(builtins, name), name == "until" && watermark != nil,
		isMark && watermark != nil && slices.Contains(watermark.Columns, column):
	case name == "until" || isMark && watermark == nil:
		v.inSQL(name, CodeWatermark, fmt.Sprintf(":%s needs a watermark", name), "set probe.watermark (mode event)")
	case isMark:
		v.inSQL(name, CodeWatermark, fmt.Sprintf("%q is no column of the watermark", column),
			"watermark columns: "+strings.Join(watermark.Columns, ", "))
	default:
		hint := problem.DidYouMean(name, append(slices.Sorted(maps.Keys(v.r.Probe.Params)), builtins...))
		if hint == "" {
			hint = fmt.Sprintf("set probe.params.%s, or params.%s in each scope; write \\: for a colon that begins no parameter", name, name)
		}
		v.inSQL(name, CodeParamMissing, fmt.Sprintf(":%s has no value", name), hint)
	}
}

// inSQL reports a problem at the first :name of the SQL.
func (v *validator) inSQL(name, code, message, hint string) {
	offset := 0
	tokens, _ := probe.Lex(v.r.Probe.SQL) // without faults, as it has parsed
	for _, t := range tokens {
		if t.Kind == probe.Param && t.Text == ":"+name {
			offset = utf8.RuneCountInString(v.r.Probe.SQL[:t.Start])
			break
		}
	}
	v.problems = append(v.problems, v.r.ProblemIn("probe.sql", offset, code, message, hint))
}
