package crashtest

import (
	"strconv"
	"time"

	"tallyman/rules"
	"tallyman/rules/catalog"
	"tallyman/rules/deliver"
)

var binNotice = catalog.Type{
	Code: "BIN_NOTICE", ID: 1, Name: "Bin", Retention: time.Hour, Fields: map[string]catalog.Field{"bin": {Type: catalog.String}},
}

// The rules that a test runs, beside those that are named by their modes.
const (
	groups = "group" // a notice for each bin, and a digest of what is more than one
	alerts = "alert" // tells of its failed runs
	many   = "many"  // has more findings than a portion of a removal closes
	none   = "none"  // no rule at all
	wide   = "wide"  // has wideScopes scopes, which see the same rows at the same time
	split  = "split" // is as wide, and its scopes share a scan
	pages  = "pages" // is the event rule with a watermark on a text, so that its passes go on at the watermark
)

const wideScopes = 30

// rulesOf returns the rules of that name.
func rulesOf(name string) []*rules.Rule {
	switch name {
	case none:
		return nil
	case wide, split:
		list := make([]*rules.Rule, wideScopes)
		for i := range list {
			list[i] = ruleOf(name)
			list[i].Scope = "W" + strconv.Itoa(i)
		}
		return list
	}
	return []*rules.Rule{ruleOf(name)}
}

// ruleOf returns the rule of that name.
func ruleOf(name string) *rules.Rule {
	r := &rules.Rule{
		ID: "bins", Scope: "W1", Enabled: true, Mode: rules.ModeState, Source: "wms",
		Schedule: rules.Schedule{Cron: "* * * * * *", Overlap: rules.OverlapSkip, CatchUp: rules.CatchUpOnce},
		Probe:    rules.Probe{SQL: "SELECT id, bin, qty FROM bin_stock WHERE qty < 0", Timeout: 5 * time.Second, MaxRows: 100},
		When:     "qty < 0", Key: []string{"id"}, NoData: rules.PolicyOK, OnError: rules.PolicyKeepLast,
		Notice: rules.Notice{
			Type: "BIN_NOTICE", Priority: "3", Modal: rules.ModalSilent, SendResolved: true,
			Title: map[string]string{"": "Bin {{ .bin }}"}, Fields: map[string]string{"bin": "bin"},
		},
		Deliver: []deliver.Entry{{Sink: "log"}},
	}
	switch name {
	case groups:
		r.GroupBy, r.Limit.Notices = []string{"bin"}, 1
	case many:
		r.Probe.MaxRows = 10_000
	case split:
		r.SplitBy, r.Schedule.CatchUp = "wh_id", rules.CatchUpAll
		r.Probe.SQL = `WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 29)
			SELECT 'W' || i AS wh_id, id, bin, qty FROM bin_stock, n WHERE qty < 0`
	case wide:
		r.Schedule.CatchUp = rules.CatchUpAll
	case alerts:
		r.OnError = rules.PolicyAlert
	case string(rules.ModeEvent), pages:
		r.Mode = rules.ModeEvent
		r.Notice.SendResolved = false
		r.Probe.SQL = "SELECT id, bin, qty FROM bin_stock WHERE id > :wm_id ORDER BY id"
		r.Probe.MaxRows = 2 // several passes in each firing
		r.Probe.Watermark = &rules.Watermark{Columns: []string{"id"}, Initial: map[string]any{"id": int64(0)}}
		if name == pages {
			r.Probe.SQL = "SELECT id, bin, qty FROM bin_stock WHERE bin > :wm_bin ORDER BY bin"
			r.Probe.Watermark = &rules.Watermark{Columns: []string{"bin"}, Initial: map[string]any{"bin": ""}}
		}
	}
	return r
}
