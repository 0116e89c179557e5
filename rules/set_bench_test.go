package rules_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tallyman/rules"
)

const benchRule = `  - id: rule-%[1]d-%[2]d
    title: Negative bin stock
    description: A picking wave drove a bin below zero.
    schedule: {cron: "*/5 5-22 * * 1-6", timezone: Asia/Shanghai, jitter: 20s}
    probe:
      sql: |
        SELECT s.wh_id, s.bin_code, s.sku, s.qty, b.min_qty, b.zone
        FROM bin_stock s JOIN bins b ON b.wh_id = s.wh_id AND b.bin_code = s.bin_code
        WHERE s.wh_id = :warehouse AND s.qty < :threshold
      params: {threshold: %[2]d, warehouse: 119240}
    when: qty < %[2]d and not (sku startsWith "TEST-") and zone in ["A", "B"]
    key: [wh_id, bin_code, sku]
    for: 10m
    repeat_interval: 4h
    notice:
      type: REP_NOTICE
      warehouse: wh_id
      priority: "qty < -100 ? 5 : 3"
      title: {en: "Bin {{ .bin_code }} is at {{ .qty }}", zh: "货位 {{ .bin_code }} 库存为 {{ .qty }}"}
      body: "{{ .sku }} in {{ .bin_code }} went to {{ .qty }}. Replenish it."
      fields: {bin: bin_code, sku: sku, qty: qty}
    deliver: [{sink: inbox}]
`

// benchFolder writes 2,000 rules in 200 files.
func benchFolder(b *testing.B, rule string) string {
	b.Helper()
	dir := b.TempDir()
	for f := range 200 {
		var text strings.Builder
		text.WriteString("version: 1\ndefaults: {source: wms, owner: inventory-control}\nrules:\n")
		for r := range 10 {
			fmt.Fprintf(&text, rule, f, r)
		}
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("rules-%03d.yaml", f)), []byte(text.String()), 0o600); err != nil {
			b.Fatal(err)
		}
	}
	return dir
}

// BenchmarkLoad is what `tallyman rules check` does with 2,000 rules in 200 files. The bound is 2 s.
func BenchmarkLoad(b *testing.B) {
	for name, rule := range map[string]string{
		"sound": benchRule,
		"bad":   strings.Replace(benchRule, "qty < %[2]d and", "qty < %[2]d and and", 1),
	} {
		b.Run(name, func(b *testing.B) {
			dir := benchFolder(b, rule)
			b.ReportAllocs()
			for b.Loop() {
				set := rules.Load([]string{dir})
				if len(set.Rules)+len(set.Problems) != 2000 {
					b.Fatalf("%d rules, %d problems", len(set.Rules), len(set.Problems))
				}
			}
		})
	}
}
