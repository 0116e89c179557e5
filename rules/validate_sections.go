package rules

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"tallyman/internal/item"
	"tallyman/internal/notice"
	"tallyman/rules/catalog"
	"tallyman/rules/condition"
	"tallyman/rules/deliver"
	"tallyman/rules/probe"
	"tallyman/rules/problem"
	"tallyman/rules/strictyaml"
)

func (v *validator) deliver() {
	list := v.r.origin.at("deliver", false)
	if list == nil || list.Kind != strictyaml.Sequence {
		return
	}
	if len(list.Items) == 0 {
		v.fail("deliver", strictyaml.CodeMissing, "deliver names no sink, so no notice would be delivered", "such as [{sink: inbox}]")
	}
	for _, f := range deliver.Names(v.r.Deliver) {
		if path := "deliver" + f.Field; f.Code != strictyaml.CodeMissing || v.isText(path) {
			v.fail(path, f.Code, f.Message, f.Hint)
		}
	}
	for i := range v.r.Deliver {
		v.strategy(i)
		v.expr(deliverPath(i, "at"), v.r.Deliver[i].At)
		v.expr(deliverPath(i, "when"), v.r.Deliver[i].When)
	}
}

// deliverPath returns the path of a field of entry i of deliver.
func deliverPath(i int, field string) string { return "deliver" + deliver.Field(i, field) }

// strategy checks that the fields of an entry belong together.
func (v *validator) strategy(i int) {
	d := &v.r.Deliver[i]
	written := v.r.origin.at(deliverPath(i, "strategy"), false)
	if written != nil && written.Text != d.Strategy.String() {
		return // the strategy is unknown, and decoding has reported that
	}
	has := func(field string) bool { return v.has(deliverPath(i, field)) }
	for _, f := range d.Faults(has, v.r.Mode == ModeState) {
		v.fail(deliverPath(i, f.Field), f.Code, f.Message, f.Hint)
	}
}

// mostResultRows bounds the rows of a rule with per: result, because such a run holds all rows in memory.
const mostResultRows = 100_000

// rowFields are about single rows, so a rule with per: result cannot have them.
var rowFields = []string{"key", "group_by", "notify_again_on", "limit"}

func (v *validator) per() {
	if v.r.Per != PerResult {
		return
	}
	if v.r.Mode == ModeEvent {
		v.fail("per", CodePer, "per: result belongs to mode state", "in mode event every row is a notice of its own")
	}
	for _, path := range rowFields {
		if v.has(path) {
			v.fail(path, CodePer, path+" cannot be used with per: result: the result as a whole is one finding", "remove it here, or from the defaults")
		}
	}
	if v.r.Probe.MaxRows > mostResultRows {
		v.fail("probe.max_rows", strictyaml.CodeOutOfRange, fmt.Sprintf("max_rows is %d, and a rule with per: result reads at most %d rows", v.r.Probe.MaxRows, mostResultRows),
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

// watched checks the columns of notify_again_on.
func (v *validator) watched() {
	list := v.r.origin.at("notify_again_on", false)
	if list == nil || list.Kind != strictyaml.Sequence {
		return
	}
	if len(list.Items) == 0 {
		v.fail("notify_again_on", strictyaml.CodeMissing, "notify_again_on names no column", "remove the field, or name the columns whose changes send the notice again")
		return
	}
	v.columns("notify_again_on", v.r.NotifyAgainOn)
}

// groupWarehouse checks that a group lies in one warehouse.
func (v *validator) groupWarehouse() {
	columns, _, err := condition.Names(v.r.Notice.Warehouse)
	if err != nil {
		return // there is no warehouse, or expr reports its faults
	}
	for _, name := range columns {
		if !slices.Contains(v.r.GroupBy, name) {
			v.fail("notice.warehouse", CodeGroup, fmt.Sprintf("the warehouse depends on %s, which is not in group_by: a group could have rows of two warehouses", name),
				"add "+name+" to group_by")
		}
	}
}

// alerts checks that notices about the rule itself have a warehouse.
func (v *validator) alerts() {
	if _, ok := v.r.AlertWarehouse(); ok || !v.has("notice.warehouse") {
		return // v.notice reports a warehouse that is missing
	}
	for path, policy := range map[string]Policy{"no_data": v.r.NoData, "on_error": v.r.OnError} {
		if policy == PolicyAlert && (path != "no_data" || v.r.Mode != ModeEvent) {
			v.fail(path, CodeAlert, path+": alert needs a warehouse, but notice.warehouse depends on a row",
				"give the rule scopes, whose names are then the warehouses, or set notice.warehouse to a constant such as '\"119240\"'")
		}
	}
}

// stateFields are about findings that last and resolve, so a rule of mode event cannot have them.
var stateFields = []string{"for", "keep_firing_for", "repeat_interval", "notify_again_on", "no_data", "group_by", "notice.send_resolved"}

func (v *validator) mode() {
	if v.r.Mode != ModeEvent {
		if v.has("probe.watermark") {
			v.fail("probe.watermark", CodeMode, "a watermark belongs to mode event",
				"in mode state the probe returns every row that is wrong, each time; set mode: event to see each row once")
		}
		return
	}
	if v.r.FirstRun == FirstRunBaseline && !v.has("probe.watermark") {
		v.fail("first_run", CodeMode, "first_run: baseline needs a watermark in mode event: without one the next run sends notices about all rows",
			"add probe.watermark, so that later runs see only new rows")
	}
	for _, path := range stateFields {
		if v.has(path) {
			v.fail(path, CodeMode, path+" cannot be used in mode event: its findings neither last nor resolve", "remove it here, or from the defaults")
		}
	}
}

func (v *validator) watermark(stmt *probe.Statement) {
	w := v.r.Probe.Watermark
	if w == nil {
		return
	}
	const path = "probe.watermark"
	if len(w.Columns) == 0 {
		v.fail(path+".columns", CodeWatermark, "the watermark has no column", "the columns that grow with every new row, as [changed_at, id]")
		return
	}
	v.columns(path+".columns", w.Columns)
	for _, c := range w.Columns {
		if _, ok := w.Initial[c]; !ok && !v.has(path+".initial."+c) {
			v.fail(path+".initial", CodeWatermark, fmt.Sprintf("the watermark has no initial value for %q", c),
				`write the value after which the first run begins; for a time column a duration before the first run, as "-1h"`)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(w.Initial)) {
		at := path + ".initial." + name
		switch value := w.Initial[name]; {
		case !slices.Contains(w.Columns, name):
			key := v.r.origin.at(path+".initial", false).Field(name).Key
			v.at(key, CodeWatermark, fmt.Sprintf("%q is no column of the watermark", name), problem.DidYouMean(name, w.Columns))
		case value == nil:
			v.fail(at, CodeWatermark, "initial cannot be null", "write the value after which the first run begins")
		}
	}
	if stmt != nil {
		v.watermarkUse(w, stmt)
	}
}

// watermarkUse reports a watermark or a lag that has no effect, because the SQL does not use its parameters.
func (v *validator) watermarkUse(w *Watermark, stmt *probe.Statement) {
	uses := func(name string) bool { return slices.Contains(stmt.Params, name) }
	if !slices.ContainsFunc(w.Columns, func(c string) bool { return uses(watermarkPrefix + c) }) {
		v.fail("probe.watermark", CodeWatermark, "the SQL does not use the watermark, so every run would see every row again",
			"compare with :"+watermarkPrefix+strings.Join(w.Columns, " and :"+watermarkPrefix)+" in its WHERE")
	}
	if w.Lag > 0 && !uses("until") {
		v.fail("probe.watermark.lag", CodeWatermark, "lag does nothing, as the SQL does not use :until",
			"add the bound to its WHERE: "+w.Columns[0]+" <= :until")
	}
}

var plainNumber = regexp.MustCompile(`^[-+]?[0-9.]+$`)

func (v *validator) notice() {
	if !v.has("notice") {
		v.need("notice", "the notice that the rule sends, such as {type: REP_NOTICE, title: …}")
		return
	}
	v.need("notice.type", "the code of a type in the catalogue")
	if catalog.Reserved(v.r.Notice.Type) {
		v.fail("notice.type", catalog.CodeReserved, v.r.Notice.Type+" is reserved for notices about the rule itself", "choose a type of the catalogue that does not begin with "+catalog.ReservedPrefix)
	}
	if v.has("notice.title") {
		v.need("notice.title", "") // without the field, the type's title counts
	}
	if v.r.Scope == "" && !v.has("notice.warehouse") {
		v.fail("notice.warehouse", strictyaml.CodeMissing, "notice.warehouse is missing, and the rule has no scopes, whose names would be the warehouses",
			"an expression such as wh_id, or '\"119240\"'")
	}
	v.expr("notice.warehouse", v.r.Notice.Warehouse)
	v.priority()
	v.order()
	for _, name := range slices.Sorted(maps.Keys(v.r.Notice.Fields)) {
		v.expr("notice.fields."+name, v.r.Notice.Fields[name])
	}
	v.templates("notice.title", v.r.Notice.Title)
	v.templates("notice.body", v.r.Notice.Body)
}

func (v *validator) order() {
	src := v.r.Notice.Order
	if src == "" && !v.has("notice.order") {
		return
	}
	if _, err := item.ParseServiceOrder(src); err == nil && src != "" {
		return
	}
	v.expr("notice.order", src)
}

func (v *validator) priority() {
	src := v.r.Notice.Priority
	if src == "" && !v.has("notice.priority") {
		return
	}
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
		v.fail(path, strictyaml.CodeMissing, path+" has no text", "write the text, or a text for each language: {en: …, zh: …}")
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

// textPath returns the path of the text in a language.
func textPath(path, lang string) string {
	if lang == "" {
		return path
	}
	return path + "." + lang
}
