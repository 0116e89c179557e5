package rules

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"

	"tallyman/internal/notice"
	"tallyman/rules/catalog"
	"tallyman/rules/strictyaml"
)

var plainNumber = regexp.MustCompile(`^[-+]?[0-9.]+$`)

func (v *validator) notice() {
	if !v.has("notice") {
		v.need("notice", "what is said, as {type: REP_NOTICE, title: …}")
		return
	}
	v.need("notice.type", "the code of a type in the catalogue")
	if catalog.Reserved(v.r.Notice.Type) {
		v.fail("notice.type", catalog.CodeReserved, v.r.Notice.Type+" is for what a rule tells of itself", "types of the catalogue that do not begin with "+catalog.ReservedPrefix)
	}
	v.need("notice.title", "")
	if v.r.Scope == "" && !v.has("notice.warehouse") {
		v.fail("notice.warehouse", strictyaml.CodeMissing, "notice.warehouse is missing, and the rule has no scopes whose names would stand for it",
			"an expression such as wh_id, or '\"119240\"'")
	}
	v.expr("notice.warehouse", v.r.Notice.Warehouse)
	v.priority()
	for _, name := range slices.Sorted(maps.Keys(v.r.Notice.Fields)) {
		v.expr("notice.fields."+name, v.r.Notice.Fields[name])
	}
	v.templates("notice.title", v.r.Notice.Title)
	v.templates("notice.body", v.r.Notice.Body)
}

func (v *validator) priority() {
	src := v.r.Notice.Priority
	if plainNumber.MatchString(src) {
		if n, err := strconv.Atoi(src); err != nil || n < notice.LowestPriority || n > notice.HighestPriority {
			v.fail("notice.priority", CodePriority, fmt.Sprintf("the priority %s is none of 1 (low) to 5 (high)", src), "")
		}
		return
	}
	v.expr("notice.priority", src)
}

// templates checks one text in all its languages.
func (v *validator) templates(path string, byLanguage map[string]string) {
	if n := v.r.origin.at(path, false); n != nil && n.Kind == strictyaml.Mapping && len(n.Fields) == 0 {
		v.fail(path, strictyaml.CodeMissing, path+" has no text", "write the text, or one a language as {en: …, zh: …}")
	}
	for _, lang := range slices.Sorted(maps.Keys(byLanguage)) {
		t, faults := parseText(v.r, byLanguage[lang])
		if len(faults) == 0 {
			faults = t.Outside(v.r.GroupBy)
		}
		for _, f := range faults {
			v.problems = append(v.problems, v.r.ProblemIn(textPath(path, lang), f.Offset, f.Code, f.Message, f.Hint))
		}
	}
}

// textPath is where a language's text stands in the rule.
func textPath(path, lang string) string {
	if lang == "" {
		return path
	}
	return path + "." + lang
}
