package ruletest_test

import (
	"strings"
	"testing"

	"tallyman/engine/trial/ruletest"
)

// escalating is a rule whose notices go out in every way that there is.
const escalating = `version: 1
rules:
  - id: escalating
    schedule: {cron: "*/5 * * * *"}
    source: wms
    probe: {sql: "SELECT bin, qty, recount_at FROM stock"}
    key: [bin]
    notice: {type: ANY, warehouse: "'1'", title: "Bin {{ .bin }}", fields: {}, send_resolved: true}
    deliver:
      - {sink: inbox}
      - {sink: sms, strategy: delayed, delay: 10m, retry: 3, unless: read}
      - {sink: mail, strategy: delayed, at: recount_at}
      - {sink: gateway, strategy: timed, within: 90m, when: qty < -10}
      - {sink: erp, strategy: important, until: sent}
`

// deliverTest runs steps on the escalating rule.
func deliverTest(t *testing.T, exact bool, lines ...string) *ruletest.Report {
	t.Helper()
	fields := "rule: escalating"
	if exact {
		fields += "\n    exact: true"
	}
	dir := folder(t, map[string]string{"rules.yaml": escalating, "a_test.yaml": "rules: rules.yaml\n" + test(fields, lines...)})
	files, problems := ruletest.Load([]string{dir})
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	r, err := ruletest.Run(t.Context(), files, ruletest.Options{Cover: true})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

const (
	few  = `{bin: A, qty: -3, recount_at: 2026-06-01T09:00:00+08:00}`
	many = `{bin: B, qty: -30, recount_at: null}`
)

// A test says where a notice goes and how, in as many words as it likes.
func TestDeliverIsExpected(t *testing.T) {
	t.Parallel()
	r := deliverTest(t, false,
		`{at: 0m, rows: [`+few+`], expect: {notices: [{deliver: [inbox, sms, mail, erp], sinks: [inbox, sms, mail, erp]}]}}`,
		`{at: 5m, rows: [`+few+`, `+many+`], expect: {notices: [{deliver: [inbox, {sink: sms, strategy: delayed, delay: 600s, unless: read, retry: 3}, {sink: mail}, {sink: gateway, strategy: timed, within: 1h30m}, {strategy: important, sink: erp, until: sent}]}]}}`,
	)
	passes(t, r)
	if d := r.Cover.Deliveries; d != (ruletest.Share{Reached: 5, All: 5}) {
		t.Errorf("covered %+v", d)
	}
	passes(t, deliverTest(t, false, `{at: 0m, rows: [`+few+`], expect: {notices: [{deliver: [inbox, sms, {sink: mail, at: 2026-06-01T09:00:00+08:00}, erp]}]}}`))
	passes(t, deliverTest(t, false, `{at: 0m, rows: [`+many+`], expect: {notices: [{deliver: [inbox, sms, {sink: mail, delay: 0}, gateway, erp]}]}}`))
}

// A resolution goes where the notice before it has gone, by the same strategy but at once.
func TestDeliverOfResolutions(t *testing.T) {
	t.Parallel()
	passes(t, deliverTest(t, false, `{at: 0m, rows: [`+few+`]}`,
		`{at: 5m, rows: [], expect: {notices: [{status: resolved, deliver: [inbox, erp]}]}}`))
	passes(t, deliverTest(t, false, `{at: 0m, rows: [`+few+`]}`, `{at: 5m, rows: [`+few+`]}`,
		`{at: 10m, rows: [], expect: {notices: [{status: resolved, deliver: [inbox, {sink: sms, strategy: delayed, delay: 0s, retry: 3}, erp]}]}}`))
}

func TestDeliverThatDiffers(t *testing.T) {
	t.Parallel()
	got := told(deliverTest(t, false, `{at: 0m, rows: [`+few+`], expect: {notices: [{deliver: [inbox, {sink: sms, strategy: important}, mail, erp]}]}}`))
	want := `9:159 0s: the notices differ
  notices[0], of the finding ["A"]:
-   deliver: [inbox, {sink: sms, strategy: important}, mail, erp]
+   deliver: [inbox, {sink: sms, strategy: delayed, delay: 10m, retry: 3, unless: read}, mail, erp]
`
	if got[strings.Index(got, "0s"):] != want[strings.Index(want, "0s"):] {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	got = told(deliverTest(t, false, `{at: 0m, rows: [`+few+`], expect: {notices: [{deliver: [inbox]}]}}`))
	if !strings.Contains(got, "+   deliver: [inbox, {sink: sms, strategy: delayed, ") {
		t.Errorf("a list of another length shows\n%s", got)
	}
	for _, list := range []string{"[inbox, sms]", "[]", "[sms, inbox, mail, erp]", "[inbox, {sink: sms, delay: 9m}, mail, erp]", "[inbox, {sink: sms, at: 2026-06-01T08:10:00+08:00}, mail, erp]"} {
		if deliverTest(t, false, `{at: 0m, rows: [`+few+`], expect: {notices: [{deliver: `+list+`}]}}`).Passed() {
			t.Errorf("%s passes", list)
		}
	}
}

// A test that compares notices as wholes says where they go with one of the two fields.
func TestExactDeliver(t *testing.T) {
	t.Parallel()
	whole := `status: firing, type: ANY, typeId: 1, warehouse: "1", rule: escalating, scope: "", key: [A], episode: "1780272000000000", priority: 3, modal: silent, title: Bin A, body: "", ` +
		`data: {}, count: 1, createdAt: 2026-06-01T00:00:00Z, createTime: 1780272000000, expireTime: 259200, expiresAt: 2026-06-04T00:00:00Z`
	for _, where := range []string{"sinks: [inbox, sms, mail, erp]", "deliver: [inbox, sms, mail, erp]", ""} {
		got := told(deliverTest(t, true, `{at: 0m, rows: [`+few+`], expect: {notices: [{`+whole+`, `+where+`}]}}`))
		if missing := strings.Contains(got, "sinks:") || strings.Contains(got, "deliver:"); missing != (where == "") {
			t.Errorf("%q:\n%s", where, got)
		}
	}
}

func TestDeliverIsReadStrictly(t *testing.T) {
	t.Parallel()
	for list, want := range map[string]string{
		"sms":                              "wrong_type",
		"[{strategy: delayed}]":            "missing_field",
		"[{sink: sms, strategy: late}]":    "unknown_value",
		"[{sink: sms, delay: soon}]":       "bad_duration",
		"[{sink: sms, retries: 3}]":        "unknown_field",
		"[[sms]]":                          "wrong_type",
		"[7]":                              "wrong_type",
		"[{sink: sms, retry: -1}]":         "out_of_range",
		"[{sink: sms, unless: forgotten}]": "unknown_value",
	} {
		_, problems := parse(t, steps(`{at: 0m, rows: [], expect: {notices: [{deliver: `+list+`}]}}`))
		if len(problems) != 1 || problems[0].Code != want {
			t.Errorf("%s: %v, want %s", list, problems, want)
		}
	}
}
