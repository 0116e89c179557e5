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

// ScanGroup returns the name of the group of scopes that one scan serves. The scopes of a group have the same schedule
// and the same probe. The name is "" without split_by. Callers should keep the name, because each call encodes the rule
// as JSON.
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

// Jitter returns how long after its due time a firing of the rule begins. scanGroup is the result of ScanGroup. All
// scopes of a scan group have the same jitter, so that one scan can serve them.
func (r *Rule) Jitter(scanGroup string) time.Duration {
	return schedule.Jitter(r.ID, cmp.Or(scanGroup, r.Scope), r.Schedule.Jitter)
}

// RowScope returns the scope of a row, for a rule with split_by. It returns false where the value of the column cannot
// be the name of a scope.
func (p *Program) RowScope(r *row.Row) (string, bool) { return ScopeName(r.Values[p.split]) }
