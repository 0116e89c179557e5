package preview_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"tallyman/engine/trial/preview"
	"tallyman/engine/trial/ruletest"
	"tallyman/rules"
	"tallyman/rules/row"
)

const typesFile = `
types:
  - {code: REP_NOTICE, id: 124719, name: Replenishment, retention: 72h, fields: {bin: {type: string}, qty: {type: decimal}}}
`

// folder has the rule and the catalogue as files, as a test file names them.
type folder struct {
	dir  string
	rule *rules.Rule
}

func folderOf(t *testing.T, fields string, replace ...string) folder {
	t.Helper()
	f := folder{dir: t.TempDir()}
	text := "version: 1\nrules:\n  - id: negative-bin" + strings.NewReplacer(replace...).Replace(fields)
	for name, content := range map[string]string{"rules/stock.yaml": text, "types.yaml": typesFile} {
		path := filepath.Join(f.dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	set := rules.Load([]string{filepath.Join(f.dir, "rules")})
	if len(set.Rules) != 1 {
		t.Fatal(set.Problems)
	}
	f.rule = set.Rules[0]
	return f
}

// tester is a test, or a draw of a property.
type tester interface {
	Context() context.Context
	Helper()
	Fatal(args ...any)
	Fatalf(format string, args ...any)
}

// record records the preview, and runs what was recorded.
func (f folder) record(t tester, p *preview.Preview, mask ...string) (string, []string) {
	t.Helper()
	path := filepath.Join(f.dir, "stock_test.yaml")
	r, err := p.Record(t.Context(), preview.RecordOptions{Path: path, Types: filepath.Join(f.dir, "types.yaml"), Mask: mask})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, r.YAML, 0o600); err != nil {
		t.Fatal(err)
	}
	files, problems := ruletest.Load([]string{path})
	if len(problems) > 0 {
		t.Fatalf("%s\n%s", problems[0].String(), r.YAML)
	}
	report, err := ruletest.Run(t.Context(), files, ruletest.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if len(report.Problems) > 0 || len(report.Results) != 1 || len(report.Results[0].Failures) > 0 {
		t.Fatalf("%+v\n%s", report, r.YAML)
	}
	return string(r.YAML), r.Notes
}

func TestARecordedRunPasses(t *testing.T) {
	t.Parallel()
	f := folderOf(t, stockRule, "key:", "for: 10m\n    key:")
	p := site{rows: [][]row.Value{stock("A-01", "S001", "-3.50"), stock("A-02", "TEST-1", "-1"), stock("A-03", "S002", "")}}.preview(t, f.rule)
	text, notes := f.record(t, p)
	for _, want := range []string{
		"rules: rules/stock.yaml\ntypes: types.yaml\n", `start: "2026-06-01T16:00:00+08:00"`,
		"columns: {wh_id: int, bin: text, sku: text, qty: decimal, note: text}",
		`- {wh_id: 119240, bin: A-01, sku: S001, qty: "-3.50", note: null}`,
		"at: 0s\n        rows: &recorded\n", "at: 5m\n        rows: *recorded\n", "at: 10m\n        rows: *recorded\n",
		"pending: 1\n          firing: 0\n          notices: []\n", `title: "Bin A-01 is at -3.50"`,
		"data: {bin: A-01, qty: \"-3.50\"}",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("there is no %q in\n%s", want, text)
		}
	}
	if len(notes) != 0 {
		t.Error(notes)
	}
}

// A recording of a rule with split_by has the rows of the scope alone.
func TestARecordingHasTheRowsOfTheScope(t *testing.T) {
	t.Parallel()
	f := folderOf(t, splitRule)
	text, notes := f.record(t, site{rows: splitRows()}.preview(t, f.rule))
	for _, other := range []string{"S1", "S4", "S5"} {
		if strings.Contains(text, other) {
			t.Errorf("a row of another scope, %s, is in\n%s", other, text)
		}
	}
	if !strings.Contains(text, "sku: S2") || !strings.Contains(text, "sku: S3") || len(notes) != 0 {
		t.Errorf("%v\n%s", notes, text)
	}
}

// Nothing of a masked value is in the file: not in the rows, the keys, the texts or the data.
func TestAMaskedRecordingHidesTheValues(t *testing.T) {
	t.Parallel()
	f := folderOf(t, stockRule)
	rows := [][]row.Value{stock("SECRET-7", "HIDDEN", "-3.5"), stock("SECRET-8", "HIDDEN", "-4"), stock("SECRET-7x", "OTHER", "12")}
	p := site{rows: rows}.preview(t, f.rule)
	text, _ := f.record(t, p, "bin", "sku", "qty")
	for _, secret := range []string{"SECRET", "HIDDEN", "OTHER", "3.5"} {
		if strings.Contains(text, secret) {
			t.Errorf("%s is in\n%s", secret, text)
		}
	}
	if !strings.Contains(text, `title: "Bin bin-1 is at -1"`) || !strings.Contains(text, "matched: 2") {
		t.Errorf("masked\n%s", text)
	}
}

func TestRecordingsThatAreRefused(t *testing.T) {
	t.Parallel()
	f := folderOf(t, stockRule)
	many := make([][]row.Value, 1001)
	for i := range many {
		many[i] = stock(fmt.Sprint(i), "S1", "1")
	}
	old := stock("A", "S1", "-1")
	for name, c := range map[string]struct {
		site    site
		columns []row.Column
		mask    []string
		want    string
	}{
		"a run that failed":           {site: site{fault: os.ErrClosed}, want: "the run failed"},
		"too many rows":               {site: site{rows: many}, want: "1001 rows"},
		"a column that is not there":  {site: site{rows: many[:1]}, mask: []string{"bim"}, want: `no column "bim"`},
		"a mask that judges anew":     {site: site{rows: [][]row.Value{stock("A", "TEST-1", "-1"), old}}, mask: []string{"sku"}, want: "row 1, which does not match; leave the columns of `when` out of --mask: sku"},
		"a value that stands outside": {site: site{rows: [][]row.Value{append(stock("A-01", "S1", "-1")[:4], row.TextOf("see A-01"))}}, mask: []string{"bin"}, want: "in the column note: mask note as well"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := c.site.preview(t, f.rule)
			_, err := p.Record(t.Context(), preview.RecordOptions{Path: "x_test.yaml", Types: "types.yaml", Mask: c.mask})
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %q", err, c.want)
			}
		})
	}
}

func TestNotesOfARecording(t *testing.T) {
	t.Parallel()
	f := folderOf(t, stockRule, "key:", "for: 10d\n    scopes: [{name: \"119240\"}]\n    key:")
	rows := [][]row.Value{stock("A", "S1", "-1")}
	k := after(t, f.rule, stockColumns, due.Add(-time.Hour), rows)
	text, notes := f.record(t, site{rows: rows, ledger: k}.preview(t, f.rule), "wh_id")
	if len(notes) != 3 || !strings.Contains(notes[0], "more runs") || !strings.Contains(notes[1], "without known findings") || !strings.Contains(notes[2], "name of the scope") {
		t.Errorf("%q", notes)
	}
	if strings.Count(text, "119240") != 1 {
		t.Errorf("beside the scope:\n%s", text)
	}
}

// allKinds is a rule that says everything that its rows hold.
const allKinds = `
    schedule: {cron: "*/5 * * * *"}
    source: wms
    probe: {sql: "SELECT * FROM t"}
    when: (i ?? 0) >= 0
    key: [i, d, s, ts, dt, x]
    notice:
      type: REP_NOTICE
      warehouse: "'W1'"
      title: "{{ .s }} {{ .d }} {{ .f }}"
      body: "{{ .b }} {{ .i }} {{ .x }} {{ .ts }} {{ .dt }} {{ .du }} {{ .j }}"
      fields: {bin: s, qty: d}
    deliver: [{sink: inbox}]
`

// Whatever a probe returns, the recorded test passes.
func TestEveryValueComesBack(t *testing.T) {
	t.Parallel()
	f := folderOf(t, allKinds)
	columns := []row.Column{
		{Name: "b", Kind: row.Bool},
		{Name: "i", Kind: row.Int},
		{Name: "f", Kind: row.Float},
		{Name: "d", Kind: row.Decimal},
		{Name: "s", Kind: row.Text},
		{Name: "x", Kind: row.Bytes},
		{Name: "ts", Kind: row.Time},
		{Name: "dt", Kind: row.Date},
		{Name: "du", Kind: row.Duration},
		{Name: "j", Kind: row.JSON},
	}
	for i := range columns {
		columns[i].Nullable = true
	}
	text := rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{
		"", " ", "true", "no", "~", "null", "0x1F", "1_000", "12:30", "2026-06-01", "1e3", "&a", "*recorded", "{a: b}", "- x", "# c", "a: b", "\"", "'", "a\nb\n", "\t", "é", "货位", "\u2028", "\x00", "a\x07",
	}))
	instant := rapid.Custom(func(t *rapid.T) time.Time {
		return time.Unix(rapid.Int64Range(-60_000_000_000, 250_000_000_000).Draw(t, "s"), rapid.Int64Range(0, 999_999_999).Draw(t, "ns")).UTC()
	})
	gens := []*rapid.Generator[row.Value]{
		rapid.Map(rapid.Bool(), row.BoolOf), rapid.Map(rapid.Int64(), row.IntOf), rapid.Map(rapid.Float64(), row.FloatOf),
		rapid.Custom(func(t *rapid.T) row.Value {
			return row.DecimalOf(rapid.Int64().Draw(t, "n"), rapid.Int32Range(0, 30).Draw(t, "scale"))
		}),
		rapid.Map(text, row.TextOf), rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) row.Value { return row.BytesOf(string(b)) }),
		rapid.Map(instant, row.TimeOf), rapid.Map(instant, row.DateOf),
		rapid.Map(rapid.Int64Range(-1e15, 1e15), func(n int64) row.Value { return row.DurationOf(time.Duration(n)) }),
		rapid.Map(rapid.SampledFrom([]string{`{"a": [1, 2.50, null]}`, `"x"`, `7`, `null`, `true`, `"{"`}), row.JSONOf),
	}
	rapid.Check(t, func(t *rapid.T) {
		var rows [][]row.Value
		for range rapid.IntRange(0, 3).Draw(t, "rows") {
			values := make([]row.Value, len(gens))
			for i, g := range gens {
				if rapid.IntRange(0, 5).Draw(t, "null") > 0 {
					values[i] = g.Draw(t, columns[i].Name)
				}
			}
			rows = append(rows, values)
		}
		p, err := preview.Run(t.Context(), site{columns: columns, rows: rows}.request(f.rule))
		if err != nil {
			t.Fatal(err)
		}
		f.record(t, p)
	})
}
