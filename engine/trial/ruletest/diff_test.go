package ruletest_test

import (
	"strings"
	"testing"

	"tallyman/engine/trial/ruletest"
)

// TestFailuresAreReadable: a failure shows the differences of its step, and nothing that was as expected.
func TestFailuresAreReadable(t *testing.T) {
	t.Parallel()
	second := strings.NewReplacer("A-01", "A-02", "-3", "-120").Replace(negative)
	for name, c := range map[string]struct{ src, want string }{
		"counts": {
			steps(`{at: 0m, rows: [` + negative + `], expect: {rows: 1, matched: 2, pending: 0, firing: 1}}`),
			`8:100 0s: matched is 1, not 2; pending is 1, not 0; firing is 0, not 1
- matched: 2
+ matched: 1
- pending: 0
+ pending: 1
- firing: 1
+ firing: 0
`,
		},
		"every failing step": {
			steps(`{at: 0m, rows: [`+negative+`], expect: {pending: 2}}`, `{at: 5m, rows: [], expect: {pending: 3}}`),
			`8:100 0s: pending is 1, not 2
- pending: 2
+ pending: 1
9:36 5m: pending is 0, not 3
- pending: 3
+ pending: 0
`,
		},
		"a field of a notice": {
			steps(`{at: 0m, rows: &n [`+negative+`]}`, `{at: 5m, rows: *n}`,
				`{at: 10m, rows: *n, expect: {notices: [{priority: 4, title: Bin A-01 is at -4, data: {qty: -3, bins: "007"}, status: firing, labels: {area: "yes"}}]}}`),
			`10:37 10m: the notices differ
  notices[0], of the finding [119240,"A-01","S1"]:
-   priority: 4
+   priority: 3
-   title: Bin A-01 is at -4
+   title: Bin A-01 is at -3
-   data.qty: -3
+   data.qty: "-3"
    a notice carries decimals as texts: write data.qty: "-3"
-   data.bins: "007"
-   labels.area: "yes"
+   labels.area: replenishment
`,
		},
		"a notice too many": {
			steps(`{at: 0m, rows: &n [`+negative+`, `+second+`]}`, `{at: 5m, rows: *n}`, `{at: 10m, rows: *n, expect: {notices: [{data: {bin: A-02}}]}}`),
			`10:37 10m: 2 notices, not 1
+ not expected: {status: firing, type: REP_NOTICE, warehouse: "119240", priority: 3, key: '[119240,"A-01","S1"]', title: Bin A-01 is at -3, data: {bin: A-01, qty: "-3", sku: S1}}
`,
		},
		"a notice that is missing": {
			steps(`{at: 0m, rows: &n [`+negative+`, `+second+`]}`, `{at: 5m, rows: *n}`,
				`{at: 10m, rows: *n, expect: {notices: [{data: {bin: A-01}}, {data: {bin: A-02}, priority: 5}, {data: {bin: "A: 03"}}]}}`),
			`10:37 10m: 2 notices, not 3
- notices[2]: {data: {bin: "A: 03"}}
`,
		},
		"other notices": {
			steps(`{at: 0m, rows: &n [`+negative+`, `+second+`]}`, `{at: 5m, rows: *n}`,
				`{at: 10m, rows: *n, expect: {notices: [{data: {bin: A-02}, key: [119240, A-02, S2]}]}}`),
			`10:37 10m: 2 notices, not 1
+ not expected: {status: firing, type: REP_NOTICE, warehouse: "119240", priority: 3, key: '[119240,"A-01","S1"]', title: Bin A-01 is at -3, data: {bin: A-01, qty: "-3", sku: S1}}
  notices[0], of the finding [119240,"A-02","S1"]:
-   key: [119240, A-02, S2]
+   key: '[119240,"A-02","S1"]'
`,
		},
		"no notice": {
			steps(`{at: 0m, rows: [], expect: {notices: [{status: firing}]}}`),
			`8:36 0s: no notice, not 1
- notices[0]: {status: firing}
`,
		},
		"a run that fails unexpectedly": {
			steps(`{at: 0m, rows: [], expect: {firing: 0}}`, `{at: 5m, error: timeout}`, `{at: 10m, error: no such table, expect: {health: ok}}`),
			`9:9 5m: health is error, which the step does not expect
+ health: error
  the run failed: probe_timeout: the test says: the statement took too long
10:49 10m: health is error, not ok
- health: ok
+ health: error
  the run failed: probe_failed: no such table
`,
		},
		"a run that is degraded unexpectedly": {
			steps(`{at: 0m, rows: [` + negative + `, ` + negative + `], expect: {pending: 1}}`),
			`8:166 0s: health is degraded, which the step does not expect
+ health: degraded
  degraded: repeated key [119240,"A-01","S1"]
`,
		},
		"a span that counts less than the author thinks": {
			steps(`{at: 0m, rows: &n [`+negative+`]}`, `{at: 10m, rows: *n, expect: {firing: 1}}`),
			"9:37 10m: firing is 0, not 1\n- firing: 1\n+ firing: 0\n" +
				"  the rule runs every 5m, so that 10m between two steps count as 5m for `for` and keep_firing_for\n",
		},
		"exact": {
			strings.Replace(test("rule: replenish-pick-face", `{at: 0m, rows: [{id: 1, wh_id: 7, bin_code: A, shortage: 1, changed_at: 2026-06-01T07:00:00+08:00}], expect: {notices: [{
          id: n_x, type: REP_NOTICE, typeId: 1, warehouse: "7", rule: replenish-pick-face, scope: "", key: "[1]", status: event, priority: 3, modal: silent, title: "Replenish A: 1",
          body: "", data: {bin: A}, labels: {}, count: 1, createdAt: 2026-06-01T00:00:00Z, createTime: 1780272000000, expireTime: 259200, sinks: [inbox]}]}}`), "rule:", "exact: true\n    rule:", 1),
			`8:118 0s: the notices differ
  notices[0], of the finding [1]:
-   id: n_x
+   id: n_zueeibtohxvewn7zqd3higxtl4
+   episode: '["2026-05-31T23:00:00Z",1]'
+   expiresAt: "2026-06-04T00:00:00Z"
`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := told(run(t, c.src, ruletest.Options{})); got != c.want {
				t.Errorf("got\n%s\nwant\n%s", got, c.want)
			}
		})
	}
}
