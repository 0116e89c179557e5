package probe_test

import (
	"testing"

	"tallyman/rules/probe"
)

// FuzzDialects reads SQL that Parse accepts in the way of each database. All faults must lie inside the text, and no
// parameter may be lost.
func FuzzDialects(f *testing.F) {
	for _, sql := range []string{
		"SELECT 1 AS a DELETE FROM bins", "SELECT [a b], N'x' FROM t WITH (NOLOCK)", "SELECT q'[x]' FROM dual", "SELECT 1 /* a /* b */ */",
		"SELECT id FROM bins WHERE at <= :now -- x\n", "SELECT $$x$$, E'\\'', `a`, @@x, a@b",
	} {
		f.Add(sql)
	}
	f.Fuzz(func(t *testing.T, sql string) {
		stmt, faults := probe.Parse(sql)
		if len(faults) > 0 {
			return
		}
		for name, check := range map[string]func(string) []probe.Fault{"mysql": probe.MySQL, "sqlserver": probe.SQLServer, "oracle": probe.Oracle} {
			for _, fault := range check(sql) {
				if fault.Offset < 0 || fault.Offset > len([]rune(sql)) || fault.Code == "" || fault.Message == "" {
					t.Errorf("%s: %+v", name, fault)
				}
			}
		}
		for _, style := range []probe.Style{probe.At, probe.Numbered} {
			if _, order := stmt.Render(style); len(order) < len(stmt.Params) {
				t.Errorf("%v for %v", order, stmt.Params)
			}
		}
	})
}
