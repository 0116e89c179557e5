package rules_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tallyman/rules"
	"tallyman/rules/catalog"
	"tallyman/rules/deliver"
	"tallyman/rules/problem"
	"tallyman/rules/row"
)

// A fixture says in its first lines what the test expects:
//
//	# columns: wh_id int, sku text        the columns that its probe returns; without, it is not compiled
//	# want 7:5 unknown_field: there is no field "crom"
//
// A fixture must have no other problems: a line "want" names each problem, with line, column, code and the beginning of
// its message.

var site = rules.Site{Sources: []string{"wms"}, Sinks: deliver.Sinks{Types: map[string]string{
	"inbox": "inbox", "replenishment": "queue", "gateway": "webhook", "sms": "chat",
}}}

func siteTypes(t *testing.T) catalog.Catalog {
	t.Helper()
	types, problems := catalog.Load("../configs/types.yaml")
	if err := problems.Err(); err != nil {
		t.Fatal(err)
	}
	return types
}

// header returns the values of the fixture's first lines with that name.
func header(src, name string) []string {
	var values []string
	for line := range strings.Lines(src) {
		value, ok := strings.CutPrefix(line, "# "+name)
		if ok {
			values = append(values, strings.TrimSpace(value))
		} else if !strings.HasPrefix(line, "#") {
			break
		}
	}
	return values
}

var kinds = map[string]row.Kind{
	"bool": row.Bool, "int": row.Int, "float": row.Float, "decimal": row.Decimal, "text": row.Text, "bytes": row.Bytes,
	"time": row.Time, "date": row.Date, "duration": row.Duration, "json": row.JSON,
}

func columnsOf(t *testing.T, list string) []row.Column {
	t.Helper()
	var columns []row.Column
	for c := range strings.SplitSeq(list, ", ") {
		name, kind, _ := strings.Cut(c, " ")
		if _, ok := kinds[kind]; !ok {
			t.Fatalf("no kind %q", kind)
		}
		columns = append(columns, row.Column{Name: name, Kind: kinds[kind], Nullable: true})
	}
	return columns
}

// problemsOf loads, checks and compiles the source.
func problemsOf(t *testing.T, path, src string) problem.List {
	t.Helper()
	known := site
	known.Types = siteTypes(t)
	set := rules.LoadFile(path, []byte(src))
	rules.Check(set, known)
	found := set.Problems
	for _, list := range header(src, "columns:") {
		for _, r := range set.Rules {
			_, l := rules.Compile(r, columnsOf(t, list), known.Types)
			found = append(found, l...)
		}
	}
	return found
}

func TestBadFiles(t *testing.T) {
	files, err := filepath.Glob("testdata/bad/*.yaml")
	if err != nil || len(files) < 60 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	for _, path := range files {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".yaml"), func(t *testing.T) {
			src, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			wants := header(string(src), "want ")
			var surplus []string
			for _, p := range problemsOf(t, path, string(src)) {
				got := fmt.Sprintf("%d:%d %s: %s", p.Line, p.Col, p.Code, p.Message)
				i := slices.IndexFunc(wants, func(w string) bool { return strings.HasPrefix(got, w) })
				if i < 0 {
					surplus = append(surplus, got)
					continue
				}
				wants = slices.Delete(wants, i, i+1)
			}
			for _, w := range wants {
				t.Errorf("missing: %s", w)
			}
			for _, s := range surplus {
				t.Errorf("surplus: %s", s)
			}
		})
	}
}
