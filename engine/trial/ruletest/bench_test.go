package ruletest_test

import (
	"fmt"
	"strings"
	"testing"

	"tallyman/engine/trial/ruletest"
)

// BenchmarkSteps is a file of 1,000 steps: rows, and tables on SQLite in memory.
func BenchmarkSteps(b *testing.B) {
	for name, input := range map[string]string{"rows": "rows: [%s]", "tables": "tables: {bin_stock: [%s]}"} {
		b.Run(name, func(b *testing.B) {
			var lines []string
			for i := range 1000 {
				row := strings.ReplaceAll(negative, "-3", fmt.Sprint(-i))
				lines = append(lines, fmt.Sprintf("{at: %dm, %s, expect: {errored: 0, health: ok}}", 5*i, fmt.Sprintf(input, row)))
			}
			f, problems := parse(b, steps(lines...))
			if len(problems) > 0 {
				b.Fatal(problems[0])
			}
			for b.Loop() {
				r, err := ruletest.Run(b.Context(), []*ruletest.File{f}, ruletest.Options{Memory: memory, Cover: true})
				if err != nil || !r.Passed() || r.Steps != 1000 {
					b.Fatal(err, told(r))
				}
			}
		})
	}
}
