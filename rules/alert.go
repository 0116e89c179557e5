package rules

import (
	"cmp"
	"fmt"
	"time"

	"tallyman/rules/catalog"
	"tallyman/rules/condition"
	"tallyman/rules/row"
)

// The kinds of notices about the rule itself, for AlertDraft.
const (
	AlertNoData   = "no_data"  // no_data: alert, and the probe returned no rows
	AlertOnError  = "on_error" // on_error: alert, and a run failed
	AlertUnjudged = "unjudged" // on_error: alert, and some rows could not be judged, or no notice could be made of them
)

// AlertPriority is the priority of a notice about a rule. It is above the default priority of notices (3) and below the
// highest one (5), which rules use for emergencies.
const AlertPriority = 4

// longestFault is the maximum length of an error in a notice about a rule, in bytes.
const longestFault = 500

// AlertWarehouse returns the warehouse of notices about the rule itself. It is notice.warehouse where that expression
// reads no column, else the name of the scope. It returns false where the rule has neither.
func (r *Rule) AlertWarehouse() (string, bool) {
	if p, err := condition.Compile(r.Notice.Warehouse, nil); err == nil {
		v, err := p.Eval(row.New(nil))
		if name, ok := warehouseName(v); ok && err == nil {
			return name, true
		}
	}
	return r.Scope, r.Scope != ""
}

// AlertDraft drafts a notice about the rule itself. kind says whether the probe returns no rows, runs fail, or rows
// cannot be judged. since is the time at which that state began. The rule must have an AlertWarehouse.
func AlertDraft(r *Rule, kind, code, errText string, since time.Time) *NoticeDraft {
	t := catalog.BuiltIn()[catalog.NoData]
	if kind != AlertNoData {
		t = catalog.BuiltIn()[catalog.RuleFailed]
	}
	warehouse, _ := r.AlertWarehouse()
	errText = bounded(errText, longestFault)
	values := map[string]row.Value{
		"rule": row.TextOf(r.ID), "scope": row.TextOf(r.Scope), "since": row.TimeOf(since), "code": row.TextOf(code), "error": row.TextOf(errText),
	}
	d := &NoticeDraft{
		Type: t, Warehouse: warehouse, Priority: AlertPriority, Modal: cmp.Or(r.Notice.Modal, ModalSilent), Expires: r.Notice.Expires,
		Texts: alertTexts(r, kind, code, errText, since), Deliver: everywhere(r),
	}
	if d.Expires == 0 {
		d.Expires = t.Retention
	}
	for _, name := range t.FieldNames() {
		d.Fields = append(d.Fields, Field{Name: name, Value: values[name]})
	}
	return d
}

// alertTexts writes the title and body of a notice about the rule. The text without a language is the English one.
func alertTexts(r *Rule, kind, code, errText string, since time.Time) map[string]Text {
	name, where, whereZH := r.ID, "", " " // Chinese has a space after Latin letters, but none after a full-width bracket.
	if r.Title != "" {
		name = bounded(r.Title, longestFault)
	}
	if r.Scope != "" {
		where, whereZH = " in "+r.Scope, "（"+r.Scope+"）"
	}
	zone, err := time.LoadLocation(r.Schedule.Timezone)
	if err != nil {
		zone = time.UTC // Load has reported the bad timezone
	}
	when := since.In(zone).Format("2006-01-02 15:04 ") + zone.String()
	english := Text{
		Title: "No data: " + name,
		Body:  fmt.Sprintf("The probe of rule %s%s has returned no rows since %s. Its earlier findings stay as they are.", r.ID, where, when),
	}
	chinese := Text{
		Title: "无数据：" + name,
		Body:  fmt.Sprintf("自 %s 起，规则 %s%s的探测没有返回任何行。之前的发现项保持原样。", when, r.ID, whereZH),
	}
	switch kind {
	case AlertUnjudged:
		english = Text{
			Title: "Rule cannot judge rows: " + name,
			Body:  fmt.Sprintf("Rule %s%s runs, but cannot judge some rows. The earlier findings of these rows stay as they are.\n%s", r.ID, where, errText),
		}
		chinese = Text{
			Title: "规则无法判断部分行：" + name,
			Body:  fmt.Sprintf("规则 %s%s正在运行，但无法判断部分行。这些行之前的发现项保持原样。\n%s", r.ID, whereZH, errText),
		}
	case AlertOnError:
		english = Text{
			Title: "Rule fails: " + name,
			Body:  fmt.Sprintf("Rule %s%s has failed since %s. Its earlier findings stay as they are.\n%s", r.ID, where, when, fault(code, errText)),
		}
		chinese = Text{
			Title: "规则运行失败：" + name,
			Body:  fmt.Sprintf("自 %s 起，规则 %s%s运行失败。之前的发现项保持原样。\n%s", when, r.ID, whereZH, fault(code, errText)),
		}
	}
	return map[string]Text{"": english, "en": english, "zh": chinese}
}

func fault(code, errText string) string {
	if errText == "" {
		return code
	}
	return code + ": " + errText
}
