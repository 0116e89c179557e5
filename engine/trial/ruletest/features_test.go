package ruletest_test

import (
	"testing"

	"tallyman/engine/trial/ruletest"
)

// TestWhatRulesCanDo: tests cover groups, digests, results and alerts as well.
func TestWhatRulesCanDo(t *testing.T) {
	t.Parallel()
	dir := folder(t, map[string]string{
		"rules.yaml": `version: 1
defaults:
  schedule: {cron: "*/5 * * * *"}
  source: wms
  probe: {sql: "SELECT bin, wave, qty FROM stock"}
  when: qty < 0
  key: [bin]
  deliver: [{sink: inbox}, {sink: keepers}]
rules:
  - id: grouped
    group_by: [wave]
    notice: {type: ANY, warehouse: "'1'", title: "Wave {{ .wave }}: {{ .row_count }}", body: "{{ range .rows }}{{ .bin }} {{ end }}", fields: {wave: wave}, send_resolved: true}
  - id: limited
    probe: {max_cost: 1000}
    limit: {notices: 1, on_exceed: digest}
    notice: {type: ANY, warehouse: "'1'", title: "{{ .bin }}", fields: {}}
  - id: alerting
    no_data: alert
    on_error: alert
    notice: {type: ANY, warehouse: "'1'", title: "{{ .bin }}", fields: {}, send_resolved: true}
  - id: shadowed
    shadow: true
    notice: {type: ANY, warehouse: "'1'", title: "{{ .bin }}"}
`,
		"a_test.yaml": `rules: rules.yaml
tests:
  - name: group
    rule: grouped
    start: 2026-06-01T08:00:00Z
    steps:
      - at: 0m
        rows: [{wave: 7, bin: A, qty: "-1"}, {wave: 7, bin: B, qty: "-1.5"}, {wave: 8, bin: C, qty: "-1"}]
        expect: {firing: 3, notices: [{count: 2, title: "Wave 7: 2", body: A B, key: [7], sinks: [inbox, keepers]}, {count: 1, data: {wave: 8}}]}
      - {at: 5m, rows: [{wave: 7, bin: A, qty: "-1"}], expect: {firing: 1, notices: [{status: resolved, key: [8]}]}}
  - name: limit
    rule: limited
    start: 2026-06-01T08:00:00Z
    steps:
      - at: 0m
        rows: [{wave: 1, bin: A, qty: -1}, {wave: 1, bin: B, qty: -1}, {wave: 1, bin: C, qty: -1}]
        expect: {firing: 3, notices: [{title: A, count: 1}, {title: "2 more: limited", count: 2}]}
  - name: alert
    rule: alerting
    start: 2026-06-01T08:00:00Z
    steps:
      - {at: 0m, error: timeout, expect: {health: error, notices: [{type: TALLYMAN_RULE_FAILED, data: {code: probe_timeout}}]}}
      - {at: 5m, rows: [], expect: {health: no_data, notices: [{type: TALLYMAN_NO_DATA, status: firing}, {type: TALLYMAN_RULE_FAILED, status: resolved}]}}
      - {at: 10m, rows: [{wave: 1, bin: A, qty: 0}], expect: {health: ok, firing: 0, notices: [{type: TALLYMAN_NO_DATA, status: resolved}]}}
  - name: shadow
    rule: shadowed
    start: 2026-06-01T08:00:00Z
    steps:
      - {at: 0m, rows: [{wave: 1, bin: A, qty: -1}], expect: {notices: [{data: {bin: A, qty: -1, wave: 1}}]}}
`,
	})
	files, problems := ruletest.Load([]string{dir})
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	r, err := ruletest.Run(t.Context(), files, ruletest.Options{Cover: true})
	if err != nil {
		t.Fatal(err)
	}
	passes(t, r)
	if c := r.Cover; c.Rules.Reached != 4 || c.Deliveries != (ruletest.Share{Reached: 8, All: 8}) || c.Branches != (ruletest.Share{Reached: 4, All: 8}) {
		t.Errorf("covered %+v", c)
	}
}
