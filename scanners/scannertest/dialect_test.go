package scannertest_test

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"tallyman/rules/probe"
	"tallyman/scanners/scannertest"
)

var update = flag.Bool("update", false, "write the golden files")

// TestTexts stores the statements of the suite for servers that CI does not have. Each must pass the driver's own
// checks.
func TestTexts(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		dialect scannertest.Dialect
		guard   func(string) []probe.Fault
	}{"sqlserver": {scannertest.SQLServer(), probe.SQLServer}, "oracle": {scannertest.Oracle(), probe.Oracle}} {
		d := c.dialect
		selects := []string{d.Version, d.Series(5), d.Series(20_000), fmt.Sprintf("SELECT "+d.Repeat+" AS t1"+d.From, 2000), d.Endless, d.Trickle}
		for _, name := range slices.Sorted(maps.Keys(d.Literals)) {
			selects = append(selects, "SELECT "+d.Literals[name]+" AS v"+d.From)
		}
		for _, sql := range selects {
			if _, faults := probe.Parse(sql); len(faults) > 0 {
				t.Errorf("%s: %s: %+v", name, sql, faults)
			}
			if faults := c.guard(sql); len(faults) > 0 {
				t.Errorf("%s: %s: %+v", name, sql, faults)
			}
		}
		for _, sql := range d.Refused {
			if _, faults := probe.Parse(sql); len(faults) == 0 && len(c.guard(sql)) == 0 {
				t.Errorf("%s: %s is taken", name, sql)
			}
		}
		written := &writtenDatabase{}
		d.New = func(scannertest.T) scannertest.Database { return written }
		for _, check := range scannertest.Checks() {
			if check.Name == "values" || check.Name == "watermark" {
				func() {
					defer func() { _ = recover() }() // there is no source
					check.Run(t, d)
				}()
			}
		}
		got := strings.Join(append(selects, written.statements...), "\n") + "\n"
		file := "testdata/" + name + ".sql"
		if *update {
			if err := os.WriteFile(file, []byte(got), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if want, err := os.ReadFile(file); err != nil || string(want) != got {
			t.Errorf("%s is not what the suite runs (%v); -update writes it", file, err)
		}
	}
}

// writtenDatabase stores the statements of the suite.
type writtenDatabase struct {
	scannertest.Database
	statements []string
}

func (d *writtenDatabase) Exec(_ scannertest.T, sql string) { d.statements = append(d.statements, sql) }
