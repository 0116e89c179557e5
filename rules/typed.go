package rules

import (
	"fmt"
	"slices"
	"strconv"

	"tallyman/internal/notice"
	"tallyman/rules/catalog"
	"tallyman/rules/deliver"
	"tallyman/rules/problem"
	"tallyman/rules/strictyaml"
)

// Of returns the rule with the priority, modal, labels and deliver of its type, where the rule leaves them open. It
// returns the rule itself where the type adds nothing. Compile adds the type's title, body and retention.
func (r *Rule) Of(t *catalog.Type) *Rule {
	priority := r.Notice.Priority == "" && t.Priority != 0
	modal := r.Notice.Modal == "" && t.Modal != ""
	sinks := len(r.Deliver) == 0 && len(t.Deliver) > 0
	if !priority && !modal && !sinks && len(t.Labels) == 0 {
		return r
	}
	whole := *r
	if priority {
		whole.Notice.Priority = strconv.Itoa(t.Priority)
	}
	if modal {
		whole.Notice.Modal = Modal(t.Modal)
	}
	if sinks {
		whole.Deliver = t.Deliver
	}
	whole.Labels = t.MergeLabels(r.Labels)
	return &whole
}

// checkWhole checks the rule together with its type. It reports what both leave open, and what does not fit together.
func checkWhole(r *Rule, t *catalog.Type) problem.List {
	var l problem.List
	missing := func(path, hint string) {
		l = append(l, r.Problem(path, strictyaml.CodeMissing, fmt.Sprintf("%s is missing, and the type %s has none", path, t.Code), hint))
	}
	if len(r.Notice.Title) == 0 && len(t.Title) == 0 {
		missing("notice.title", "write what the notice says, or give the type a title in the catalogue")
	}
	whole := r.Of(t)
	if len(whole.Deliver) == 0 {
		missing("deliver", "where the notices go, as [{sink: inbox}]; or give the type a deliver in the catalogue")
	}
	if len(r.Deliver) == 0 && r.Mode == ModeEvent && slices.ContainsFunc(t.Deliver, func(e deliver.Entry) bool { return e.WaitsForResolution() }) {
		l = append(l, r.typeProblem(t, "deliver", CodeMode, deliver.NothingResolves, "write deliver in the rule, or change deliver of the type"))
	}
	if n := len(whole.Labels); n > notice.MaxLabels {
		l = append(l, r.Problem("labels", strictyaml.CodeOutOfRange, fmt.Sprintf("the rule and its type %s have %d labels together, at most %d are allowed", t.Code, n, notice.MaxLabels), "every notice carries all labels: use fewer or shorter ones"))
	}
	return l
}

// typeProblem makes a problem of something that the rule gets from its type. Its place is where the rule names the
// type.
func (r *Rule) typeProblem(t *catalog.Type, field, code, message, hint string) problem.Problem {
	return r.Problem("notice.type", code, fmt.Sprintf("%s of the type %s: %s", field, t.Code, message), hint)
}
