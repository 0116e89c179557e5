package rules

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"tallyman/rules/probe"
	"tallyman/rules/row"
	"tallyman/rules/schedule"
	"tallyman/rules/scopelist"
)

// ownParams are the built-in parameters whose values differ between the scopes of a rule.
var ownParams = []string{"scope", "last_run_at"}

// split checks that one scan can serve all scopes of the rule.
func (v *validator) split(stmt *probe.Statement) {
	if !v.has("split_by") {
		return
	}
	if v.r.Mode == ModeEvent {
		v.fail("split_by", CodeMode, "split_by belongs to mode state", "in mode event each scope has a watermark and a scan of its own: remove split_by")
		return
	}
	if v.isText("split_by") && v.r.SplitBy == "" {
		v.fail("split_by", CodeBadName, "split_by names no column", "the column of the probe that has the name of the scope")
	}
	if v.r.Scope == "" {
		v.fail("split_by", CodeConflict, "split_by means nothing without scopes", "list the scopes, or remove split_by")
	}
	if stmt == nil {
		return
	}
	for _, name := range ownParams {
		if slices.Contains(stmt.Params, name) {
			v.fail("split_by", CodeConflict, fmt.Sprintf("the probe has :%s, which differs between the scopes; with split_by one scan serves all of them", name),
				"remove :"+name+" from the probe: each scope gets the rows that name it")
		}
	}
}

// ScanGroup names the scopes of the rule that one scan serves: they have the same schedule and ask the same question. It is "" without split_by. To make the
// name takes as long as to write the rule down.
func (r *Rule) ScanGroup() string {
	if r.SplitBy == "" {
		return ""
	}
	text, err := json.Marshal([]any{r.ID, r.SplitBy, r.Source, r.Schedule, r.Probe}) // maps in order of their keys
	if err != nil {
		panic(fmt.Sprintf("rules: a probe holds what JSON cannot: %v", err))
	}
	return scopelist.Hash(string(text))
}

// Jitter is how long after its due time a firing of the rule in its scope begins. The scopes of a scan group, whose name is that of ScanGroup, have the same.
func (r *Rule) Jitter(scanGroup string) time.Duration {
	return schedule.Jitter(r.ID, cmp.Or(scanGroup, r.Scope), r.Schedule.Jitter)
}

// RowScope returns the name of the scope that the row of a rule with split_by belongs to; false where the column holds what no scope can be called.
func (p *Program) RowScope(r *row.Row) (string, bool) { return ScopeName(r.Values[p.split]) }
