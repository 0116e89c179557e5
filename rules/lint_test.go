package rules_test

import (
	"strings"
	"testing"

	"tallyman/rules"
	"tallyman/rules/row"
)

// TestLint compares rules with a warning and similar rules without one.
func TestLint(t *testing.T) {
	t.Parallel()
	columns := []row.Column{{Name: "bin", Kind: row.Text}, {Name: "zone", Kind: row.Text, Nullable: true}, {Name: "price", Kind: row.Text}, {Name: "qty", Kind: row.Int}}
	for text, want := range map[string]string{
		"for: 4m":                                        "shorter_than_interval",
		"for: 5m":                                        "",
		"keep_firing_for: 1s":                            "shorter_than_interval",
		"keep_firing_for: 0s":                            "",
		"schedule: {cron: '*/90 * * * *'}":               "cron_step",
		"schedule: {cron: '0,5/60 * * * *'}":             "cron_step",
		"schedule: {cron: '0 */24 * * *'}":               "cron_step",
		"schedule: {cron: '*/59 */23 * * *'}":            "",
		"schedule: {cron: '@every 90m'}":                 "",
		"mode: event":                                    "event_without_watermark",
		`when: price > "100"`:                            "text_as_number",
		`when: "\"-1.5\" <= price"`:                      "text_as_number",
		`when: price == "100"`:                           "",
		`when: price > "A-100"`:                          "",
		`when: qty > 0 and bin < "B"`:                    "",
		"per: result":                                    "",
		`{per: result, when: 'any(rows, .price > "7")'}`: "text_as_number",
		"key: [zone]":                                    "nullable_key",
		"{key: [zone], probe: {sql: 'SELECT bin, zone, price, qty FROM b WHERE b.zone IS NOT NULL'}}": "",
		"{key: [zone], probe: {sql: \"SELECT bin, coalesce(zone, '') AS zone, price, qty FROM b\"}}":  "",
	} {
		own, isOneLine := strings.CutPrefix(text, "{")
		if isOneLine { // several fields
			own = strings.ReplaceAll(strings.TrimSuffix(own, "}"), ", probe:", "\n    probe:")
			own = strings.ReplaceAll(own, ", when:", "\n    when:")
		}
		src := "version: 1\nrules:\n  - id: a\n    source: wms\n    notice: {type: REP_NOTICE, warehouse: \"'w'\", title: Look}\n    deliver: [{sink: inbox}]\n    " + own + "\n"
		for field, line := range map[string]string{
			"schedule:": "schedule: {cron: '*/5 * * * *'}", "probe:": "probe: {sql: \"SELECT bin, zone, price, qty FROM b\"}", "key:": "key: [bin]",
		} {
			if !strings.Contains(src, field) && (field != "key:" || !strings.Contains(src, "per:")) {
				src += "    " + line + "\n"
			}
		}
		set := rules.LoadFile("f.yaml", []byte(src))
		if len(set.Rules) != 1 {
			t.Fatalf("%s: %v", text, set.Problems)
		}
		codes := ""
		for _, p := range append(rules.Lint(set.Rules[0]), rules.LintColumns(set.Rules[0], columns)...) {
			codes += p.Code
		}
		if codes != want {
			t.Errorf("%s: %q, want %q", text, codes, want)
		}
	}
}
