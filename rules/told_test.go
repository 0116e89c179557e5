package rules_test

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tallyman/rules"
	"tallyman/rules/deliver"
	"tallyman/rules/row"
)

// A good file with columns says in its first lines which notices its rows make:
//
//	# columns: wh_id int, qty decimal
//	# row: wh_id 119240, qty -3        columns that are not named are NULL
//	# told 119240 3 Title | body | field=value …
//
// There is one line for each notice. For a row that cannot be judged, or that makes no notice, the line has the error.
// Where deliver has when or at, → and the sinks that apply follow. A rule with per: result makes at most one notice,
// and a rule with group_by one for each group. -update writes the lines again.
func TestGoodFilesTell(t *testing.T) {
	files, err := filepath.Glob("testdata/good/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, path := range files {
		src := readFile(t, path)
		if header(src, "columns:") == nil {
			continue
		}
		n++
		t.Run(strings.TrimSuffix(filepath.Base(path), ".yaml"), func(t *testing.T) {
			got := toldOf(t, path, src)
			want := header(src, "told ")
			if *update {
				rewriteTold(t, path, src, got)
				return
			}
			if len(want) == 0 {
				t.Error("the file expects nothing: run go test ./rules -run GoodFilesTell -update")
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
	if n < 30 {
		t.Errorf("only %d files", n)
	}
}

// firingTime is what now() returns.
var firingTime = time.Date(2026, 6, 1, 8, 0, 0, 0, time.UTC)

func toldOf(t *testing.T, path, src string) []string {
	t.Helper()
	known := site
	known.Types = siteTypes(t)
	set := rules.LoadFile(path, []byte(src))
	rules.Check(set, known)
	if err := set.Problems.Err(); err != nil {
		t.Fatal(err)
	}
	columns := columnsOf(t, header(src, "columns:")[0])
	var rows []*row.Row
	for _, line := range header(src, "row:") {
		rows = append(rows, rowOf(t, columns, line))
	}
	var told []string
	for _, r := range set.Rules {
		p, problems := rules.Compile(r, columns, known.Types)
		if err := problems.Err(); err != nil {
			t.Fatal(err)
		}
		p.SetNow(firingTime)
		told = append(told, tell(p, r, rows)...)
	}
	if told == nil {
		told = []string{"nothing"}
	}
	return told
}

// tell returns the notices that a first run would send, without for.
func tell(p *rules.Program, r *rules.Rule, rows []*row.Row) []string {
	if r.Per == rules.PerResult {
		if met, err := p.MatchResult(rows); err != nil || !met {
			return said(r, nil, err)
		}
		d, err := p.DraftResult(rows)
		return said(r, d, err)
	}
	var told []string
	groups := map[string][]*row.Row{}
	for _, candidate := range rows {
		switch met, err := p.Match(candidate); {
		case err != nil:
			told = append(told, said(r, nil, err)...)
		case !met:
		case r.GroupBy != nil:
			groups[p.Group(candidate)] = append(groups[p.Group(candidate)], candidate)
		default:
			d, err := p.Draft(candidate)
			told = append(told, said(r, d, err)...)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(groups)) {
		slices.SortFunc(groups[key], func(a, b *row.Row) int { return strings.Compare(p.Key(a), p.Key(b)) })
		d, err := p.DraftGroup(groups[key])
		told = append(told, said(r, d, err)...)
	}
	return told
}

func said(r *rules.Rule, d *rules.NoticeDraft, err error) []string {
	switch {
	case err != nil:
		return []string{"error: " + err.Error()}
	case d == nil:
		return nil
	}
	var fields []string
	for _, f := range d.Fields {
		if !f.Value.IsNull() {
			fields = append(fields, f.Name+"="+f.Value.String())
		}
	}
	text := d.Texts[""]
	line := fmt.Sprintf("%s %d %s | %s | %s", d.Warehouse, d.Priority, text.Title, text.Body, strings.Join(fields, " "))
	if slices.ContainsFunc(r.Deliver, func(d deliver.Entry) bool { return d.When != "" || d.At != "" }) {
		line += " →"
	}
	for _, a := range d.Deliver {
		if strings.HasSuffix(line, "→") || strings.Contains(line, "→ ") {
			line += " " + r.Deliver[a.Entry].Sink
		}
		if !a.At.IsZero() {
			line += "@" + a.At.Format(time.RFC3339)
		}
	}
	return []string{strings.TrimSpace(strings.ReplaceAll(line, "\n", " ⏎ "))}
}

// rowOf reads "name value, name value".
func rowOf(t *testing.T, columns []row.Column, line string) *row.Row {
	t.Helper()
	r := row.New(columns)
	for part := range strings.SplitSeq(line, ", ") {
		name, text, _ := strings.Cut(part, " ")
		i := r.Index(name)
		if i < 0 {
			t.Fatalf("no column %q", name)
		}
		v, err := valueOf(columns[i].Kind, text)
		if err != nil {
			t.Fatal(err)
		}
		r.Values[i] = v
	}
	return r
}

func valueOf(k row.Kind, text string) (row.Value, error) {
	switch k {
	case row.Int:
		n, err := strconv.ParseInt(text, 10, 64)
		return row.IntOf(n), err
	case row.Decimal:
		return row.ParseDecimal(text)
	case row.Float:
		x, err := strconv.ParseFloat(text, 64)
		return row.FloatOf(x), err
	case row.Bool:
		return row.BoolOf(text == "true"), nil
	case row.Time:
		at, err := time.Parse(time.RFC3339, text)
		return row.TimeOf(at), err
	case row.Date:
		day, err := time.Parse(time.DateOnly, text)
		return row.DateOf(day), err
	case row.JSON:
		return row.JSONOf(text), nil
	case row.Text:
		return row.TextOf(text), nil
	case row.Null, row.Bytes, row.Duration:
	}
	return row.Value{}, fmt.Errorf("no values of kind %s here", k)
}

func rewriteTold(t *testing.T, path, src string, told []string) {
	t.Helper()
	var out strings.Builder
	inHeader := true
	for line := range strings.Lines(src) {
		if inHeader && strings.HasPrefix(line, "# told ") {
			continue
		}
		if inHeader && !strings.HasPrefix(line, "#") {
			inHeader = false
			for _, one := range told {
				out.WriteString("# told " + one + "\n")
			}
		}
		out.WriteString(line)
	}
	if err := os.WriteFile(path, []byte(out.String()), 0o600); err != nil {
		t.Fatal(err)
	}
}
