package rules

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"tallyman/rules/probe"
	"tallyman/rules/problem"
)

// stateFields mean nothing where nothing resolves.
var stateFields = []string{"for", "keep_firing_for", "repeat_interval", "no_data", "group_by", "notice.send_resolved"}

func (v *validator) mode() {
	if v.r.Mode != ModeEvent {
		if v.has("probe.watermark") {
			v.fail("probe.watermark", CodeMode, "a watermark belongs to mode event",
				"in mode state the probe returns every row that is wrong, each time; set mode: event to see each row once")
		}
		return
	}
	for _, path := range stateFields {
		if v.has(path) {
			v.fail(path, CodeMode, path+" means nothing in mode event, where nothing lasts or resolves", "remove it here, or from the defaults")
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
				`a value to begin after; for a time column a duration before the first run, as "-1h"`)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(w.Initial)) {
		at := path + ".initial." + name
		switch value := w.Initial[name]; {
		case !slices.Contains(w.Columns, name):
			key := v.r.origin.at(path+".initial", false).Field(name).Key
			v.at(key, CodeWatermark, fmt.Sprintf("%q is no column of the watermark", name), problem.DidYouMean(name, w.Columns))
		case value == nil:
			v.fail(at, CodeWatermark, "nothing comes after null", "a value to begin after")
		}
	}
	if stmt != nil {
		v.watermarkUse(w, stmt)
	}
}

// watermarkUse reports a watermark that would do nothing.
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
