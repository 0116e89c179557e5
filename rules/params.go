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

// builtins are the parameters whose values the engine gives to every probe. A probe with a watermark also has :until
// and :wm_<column>.
var builtins = []string{"now", "scheduled_at", "last_run_at", "scope"}

const watermarkPrefix = "wm_"

// paramPart is one of the maps of parameters that were merged into an effective rule.
type paramPart struct {
	node *strictyaml.Node
	rule string // The id of the rule that has the map. Empty means that the defaults have it.
}

// paramUse finds parameters that no probe uses. Several rules or scopes can share a parameter, by the defaults or by an
// alias. A shared parameter counts as used where at least one probe uses it.
type paramUse struct {
	keys []*strictyaml.Node
	rule map[*strictyaml.Node]string
	used map[*strictyaml.Node]bool
}

func newParamUse() *paramUse {
	return &paramUse{rule: map[*strictyaml.Node]string{}, used: map[*strictyaml.Node]bool{}}
}

// see records the parameters of one effective rule. uses tells whether the rule's probe uses a name.
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

// unused reports the parameters that no probe uses.
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

// params checks the names of the parameters that the rule gives, and the parameters that the SQL needs. It removes
// parameters that the SQL does not use. paramUse reports these later, when all rules of the file are known.
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

// missingParam reports a :name of the SQL that neither the rule nor the engine gives a value.
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

// inSQL reports a problem at the first place where the SQL has :name.
func (v *validator) inSQL(name, code, message, hint string) {
	offset := 0
	tokens, _ := probe.Lex(v.r.Probe.SQL) // the SQL has parsed already, so there are no faults
	for _, t := range tokens {
		if t.Kind == probe.Param && t.Text == ":"+name {
			offset = utf8.RuneCountInString(v.r.Probe.SQL[:t.Start])
			break
		}
	}
	v.problems = append(v.problems, v.r.ProblemIn("probe.sql", offset, code, message, hint))
}
