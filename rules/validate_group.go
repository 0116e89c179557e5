package rules

import (
	"fmt"
	"slices"

	"tallyman/rules/condition"
	"tallyman/rules/strictyaml"
)

// mostResultRows bounds the rows of a rule with per: result, which are all in memory at once.
const mostResultRows = 100_000

// rowFields mean nothing where the result as a whole is one finding.
var rowFields = []string{"key", "group_by", "limit"}

func (v *validator) per() {
	if v.r.Per != PerResult {
		return
	}
	if v.r.Mode == ModeEvent {
		v.fail("per", CodePer, "per: result belongs to mode state", "in mode event every row is a notice of its own")
	}
	for _, path := range rowFields {
		if v.has(path) {
			v.fail(path, CodePer, path+" means nothing with per: result, where the result as a whole is one finding", "remove it here, or from the defaults")
		}
	}
	if v.r.Probe.MaxRows > mostResultRows {
		v.fail("probe.max_rows", strictyaml.CodeOutOfRange, fmt.Sprintf("max_rows is %d, with per: result at most %d are taken", v.r.Probe.MaxRows, mostResultRows),
			"per: result holds all rows in memory; let the SQL count, sum or filter them")
	}
}

func (v *validator) limit() {
	if limit := v.r.origin.at("limit", false); limit != nil && limit.Kind == strictyaml.Mapping && !v.has("limit.notices") {
		v.need("limit.notices", "how many notices a run makes before the rest becomes one digest, as {notices: 50}")
	}
}

func (v *validator) group() {
	list := v.r.origin.at("group_by", false)
	if list == nil || list.Kind != strictyaml.Sequence {
		return
	}
	if len(list.Items) == 0 {
		v.fail("group_by", strictyaml.CodeMissing, "group_by names no column", "remove the field, or name the columns whose values are the same in a group")
		return
	}
	v.columns("group_by", v.r.GroupBy)
	v.groupWarehouse()
}

// groupWarehouse checks that a group lies in one warehouse.
func (v *validator) groupWarehouse() {
	columns, _, err := condition.Names(v.r.Notice.Warehouse)
	if err != nil {
		return // there is none, or its fault is told
	}
	for _, name := range columns {
		if !slices.Contains(v.r.GroupBy, name) {
			v.fail("notice.warehouse", CodeGroup, fmt.Sprintf("the warehouse depends on %s, by which the rule does not group, so a group could lie in two", name),
				"add "+name+" to group_by")
		}
	}
}

// alerts checks that a notice about the rule itself would have a warehouse.
func (v *validator) alerts() {
	if _, ok := v.r.AlertWarehouse(); ok || !v.has("notice.warehouse") {
		return // without one and without a scope it is missing, which notice says
	}
	for path, policy := range map[string]Policy{"no_data": v.r.NoData, "on_error": v.r.OnError} {
		if policy == PolicyAlert && (path != "no_data" || v.r.Mode != ModeEvent) {
			v.fail(path, CodeAlert, path+": alert needs a warehouse, and notice.warehouse depends on a row",
				"give the rule scopes, whose names are then the warehouses, or set notice.warehouse to a constant such as '\"119240\"'")
		}
	}
}
