package rules_test

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"tallyman/rules"
	"tallyman/rules/catalog"
	"tallyman/rules/deliver"
)

const rule = `  - id: %s
    schedule: {cron: "@hourly"}
    source: wms
    probe: {sql: "SELECT wh_id, bin_code AS bin FROM bin_stock"}
    key: [bin]
    notice: {type: REP_NOTICE, warehouse: wh_id, title: Look}
    deliver: [{sink: inbox}]
`

// write makes a folder of rule files; contents are rule ids, or a whole file.
func write(t *testing.T, files map[string]string) string {
	t.Helper()
	folder := t.TempDir()
	for name, content := range files {
		if !strings.Contains(content, "\n") {
			ids := strings.Fields(content)
			content = "version: 1\nrules:\n"
			for _, id := range ids {
				content += fmt.Sprintf(rule, id)
			}
		}
		path := filepath.Join(folder, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return folder
}

func ids(s *rules.Set) string {
	var all []string
	for _, r := range s.Rules {
		all = append(all, r.ID)
	}
	return strings.Join(all, " ")
}

func TestLoadWalksFolders(t *testing.T) {
	folder := write(t, map[string]string{
		"b.yaml": "b", "a.yml": "a", "deep/c.yaml": "c", ".hidden.yaml": "d", ".git/e.yaml": "e", "notes.txt": "f", "z.yaml": "version: 1\nrules: []\n",
	})
	s := rules.Load([]string{folder, filepath.Join(folder, "b.yaml")})
	if got := ids(s); got != "a b c" || !s.Complete() || len(s.Files) != 4 {
		t.Errorf("rules %q, files %v, problems %v", got, s.Files, s.Problems)
	}
}

func TestLoadFollowsALinkedFolder(t *testing.T) {
	folder := write(t, map[string]string{"a.yaml": "a"})
	link := filepath.Join(t.TempDir(), "rules")
	if err := os.Symlink(folder, link); err != nil {
		t.Fatal(err)
	}
	if s := rules.Load([]string{link}); ids(s) != "a" {
		t.Errorf("rules %q, problems %v", ids(s), s.Problems)
	}
}

func TestABadFileOrRuleLeavesTheOthers(t *testing.T) {
	folder := write(t, map[string]string{
		"good.yaml":     "a",
		"syntax.yaml":   "version: 1\nrules: [\n",
		"half.yaml":     "version: 1\nrules:\n" + fmt.Sprintf(rule, "b") + strings.Replace(fmt.Sprintf(rule, "c"), "key:", "kye:", 1),
		"defaults.yaml": "version: 1\ndefaults: {jitter: 5s}\nrules:\n" + fmt.Sprintf(rule, "d"),
	})
	s := rules.Load([]string{folder, filepath.Join(folder, "missing.yaml")})
	if got := ids(s); got != "a b" {
		t.Errorf("rules %q", got)
	}
	if s.Complete() {
		t.Error("the set calls itself complete")
	}
	var got []string
	for _, p := range s.Problems {
		got = append(got, filepath.Base(p.File)+" "+p.Code+" "+p.Rule)
	}
	want := []string{
		"defaults.yaml unknown_field ", "half.yaml missing_field c", "half.yaml unknown_field c",
		"missing.yaml file_unreadable ", "syntax.yaml yaml_syntax ",
	}
	if !slices.Equal(got, want) {
		t.Errorf("problems %q, want %q", got, want)
	}
	for _, f := range s.Files {
		if wantRules := map[string]int{"good.yaml": 1, "half.yaml": 2, "syntax.yaml": 0, "defaults.yaml": 1}[filepath.Base(f.Path)]; f.Rules != wantRules {
			t.Errorf("%s: %d rules, want %d", f.Path, f.Rules, wantRules)
		}
		if wantProblems := map[string]int{"good.yaml": 0, "half.yaml": 2, "syntax.yaml": 1, "defaults.yaml": 1}[filepath.Base(f.Path)]; f.Problems != wantProblems {
			t.Errorf("%s: %d problems, want %d", f.Path, f.Problems, wantProblems)
		}
	}
}

func TestIDsAreUniqueOverFiles(t *testing.T) {
	s := rules.Load([]string{write(t, map[string]string{"a.yaml": "x y", "b.yaml": "z x"})})
	if got := ids(s); got != "x y z" {
		t.Errorf("rules %q", got)
	}
	if len(s.Problems) != 1 || s.Problems[0].Code != rules.CodeDuplicateID || !strings.Contains(s.Problems[0].Hint, "a.yaml:3") {
		t.Errorf("problems %v", s.Problems)
	}
	for _, r := range s.Rules {
		if r.ID == "x" && filepath.Base(r.File) != "a.yaml" {
			t.Errorf("the later one runs: %s", r.File)
		}
	}
}

func TestCheckTakesRulesOut(t *testing.T) {
	known := site
	known.Types = siteTypes(t)
	s := rules.Load([]string{write(t, map[string]string{
		"a.yaml": "a",
		"b.yaml": "version: 1\nrules:\n" + strings.Replace(fmt.Sprintf(rule, "b"), "sink: inbox", "sink: inbx", 1),
	})})
	for range 2 { // a second check finds nothing more
		rules.Check(s, known)
		if got := ids(s); got != "a" || s.Complete() || len(s.Problems) != 1 || s.Files[1].Problems != 1 {
			t.Fatalf("rules %q, problems %v, files %v", got, s.Problems, s.Files)
		}
	}
	if p := s.Problems[0]; p.Rule != "b" || p.Hint != `did you mean "inbox"?` {
		t.Errorf("%+v", p)
	}
}

func TestChecksumFollowsTheMeaning(t *testing.T) {
	load := func(src string) string {
		s := rules.LoadFile("f.yaml", []byte("version: 1\nrules:\n"+src))
		if err := s.Problems.Err(); err != nil {
			t.Fatal(err)
		}
		return s.Rules[0].Checksum
	}
	src := fmt.Sprintf(rule, "a")
	first := load(src)
	if load("  # a comment\n"+src) != first || load(strings.Replace(src, "key: [bin]", "key:\n    - bin", 1)) != first {
		t.Error("the way of writing changes the checksum")
	}
	seen := map[string]string{first: "unchanged"}
	for _, change := range []string{
		"title: x", "owner: x", "enabled: false", "labels: {a: b}", "when: wh_id > 5", "for: 5m", "keep_firing_for: 5m", "repeat_interval: 5m", "mode: event",
		"no_data: keep_last", "scopes: [{name: a}]", "description: x", "runbook_url: https://x",
	} {
		sum := load(src + "    " + change + "\n")
		if before := seen[sum]; before != "" {
			t.Errorf("%s: the checksum is that of %s", change, before)
		}
		seen[sum] = change
	}
}

// OwnLabels is part of the checksum, also where every scope overrides the labels.
func TestChecksumFollowsTheRulesOwnLabels(t *testing.T) {
	load := func(labels string) string {
		src := fmt.Sprintf(rule, "a") + "    labels: {area: " + labels + "}\n    scopes: [{name: W1, overrides: {labels: {area: here}}}]\n"
		s := rules.LoadFile("f.yaml", []byte("version: 1\nrules:\n"+src))
		if err := s.Problems.Err(); err != nil {
			t.Fatal(err)
		}
		return s.Rules[0].Checksum
	}
	if load("one") == load("two") {
		t.Error("the checksum is the same")
	}
}

// Each field of a rule is part of its checksum, also fields that are added later. The exceptions are the fields that
// say where the rule was read, and Kin.
func TestChecksumIsOverEachField(t *testing.T) {
	s := rules.LoadFile("f.yaml", []byte("version: 1\nrules:\n"+fmt.Sprintf(rule, "a")))
	if err := s.Problems.Err(); err != nil {
		t.Fatal(err)
	}
	r := s.Rules[0]
	sum := rules.ChecksumOf(r)
	fields := 0
	var walk func(path string, v reflect.Value)
	hold := func(path string, v, other reflect.Value) {
		old := reflect.New(v.Type()).Elem()
		old.Set(v)
		v.Set(other)
		fields++
		if same, where := rules.ChecksumOf(r) == sum, path == ".File" || path == ".Checksum" || path == ".Kin"; same != where {
			t.Errorf("a change of %s: the checksum stays: %v", path, same)
		}
		v.Set(old)
	}
	walk = func(path string, v reflect.Value) {
		switch v.Kind() {
		case reflect.Struct:
			for i := range v.NumField() {
				if f := v.Type().Field(i); f.IsExported() {
					walk(path+"."+f.Name, v.Field(i))
				}
			}
		case reflect.Pointer:
			if v.IsNil() {
				v.Set(reflect.New(v.Type().Elem()))
				sum = rules.ChecksumOf(r)
			}
			walk(path, v.Elem())
		case reflect.Slice:
			more := reflect.Append(v, reflect.New(v.Type().Elem()).Elem())
			hold(path, v, more)
			if v.Type().Elem().Kind() == reflect.Struct {
				v.Set(more)
				sum = rules.ChecksumOf(r)
				walk(path+"[]", v.Index(v.Len()-1))
			}
		case reflect.Map:
			more := reflect.MakeMap(v.Type())
			value := reflect.New(v.Type().Elem()).Elem()
			if value.Kind() == reflect.Interface {
				value.Set(reflect.ValueOf("a value"))
			}
			more.SetMapIndex(reflect.ValueOf("another name"), value)
			hold(path, v, more)
		case reflect.String:
			hold(path, v, reflect.ValueOf(v.String()+"'").Convert(v.Type()))
		case reflect.Bool:
			hold(path, v, reflect.ValueOf(!v.Bool()))
		case reflect.Int, reflect.Int64:
			hold(path, v, reflect.ValueOf(v.Int()+1).Convert(v.Type()))
		default:
			t.Errorf("%s is a %s, which this test cannot change", path, v.Kind())
		}
	}
	walk("", reflect.ValueOf(r).Elem())
	if fields < 50 {
		t.Errorf("only %d fields were changed", fields)
	}
}

func TestProblemsFoundLaterHaveTheirPlace(t *testing.T) {
	s := rules.LoadFile("f.yaml", []byte("version: 1\nrules:\n"+strings.Replace(fmt.Sprintf(rule, "a"), `{sql: "SELECT`, "{sql: \"\\\n      SELECT", 1)))
	if err := s.Problems.Err(); err != nil {
		t.Fatal(err)
	}
	p := s.Rules[0].ProblemIn("probe.sql", len("SELECT "), "probe_invalid", "no column wh_id", "")
	if p.Line != 7 || p.Col != 14 || p.Rule != "a" || p.File != "f.yaml" {
		t.Errorf("%+v", p)
	}
	if p := s.Rules[0].Problem("probe.timeout", "c", "m", ""); p.Line != 6 || p.Col != 5 {
		t.Errorf("the nearest field: %+v", p)
	}
	bare := &rules.Rule{ID: "b", File: "f.yaml"}
	if p := bare.ProblemIn("when", 3, "c", "m", ""); p.File != "f.yaml" || p.Rule != "b" || p.Line != 0 {
		t.Errorf("a rule from nowhere: %+v", p)
	}
}

// The shipped rules fit the shipped types.
func TestShippedRulesFitShippedTypes(t *testing.T) {
	types, problems := catalog.Load("../configs/types.yaml")
	if err := problems.Err(); err != nil {
		t.Fatal(err)
	}
	set := rules.Load([]string{"../examples/wms/rules"})
	rules.Check(set, rules.Site{Sources: []string{"wms"}, Sinks: deliver.Sinks{Types: map[string]string{"inbox": "inbox", "replenishment": "queue"}}, Types: types})
	for _, p := range set.Problems {
		t.Error(p.String())
	}
	if !set.Complete() || set.Find("negative-bin-stock", "119240") == nil {
		t.Errorf("complete %v, rules %d", set.Complete(), len(set.Rules))
	}
}

// The rules of testdata/good/design-example.yaml have no problem on a site with the sources, sinks and types that they
// name.
func TestDesignRulesFitTheirSite(t *testing.T) {
	known := site
	known.Types = siteTypes(t)
	set := rules.Load([]string{"testdata/good/design-example.yaml"})
	rules.Check(set, known)
	for _, p := range set.Problems {
		t.Error(p.String())
	}
	r := set.Find("negative-bin-stock", "119240")
	if r == nil {
		t.Fatalf("%d rules", len(set.Rules))
	}
	var entries []string
	for _, d := range r.Deliver {
		entries = append(entries, d.String())
	}
	want := []string{"inbox", "replenishment until it succeeds", "gateway for 30m", "sms after 10m unless read"}
	if !slices.Equal(entries, want) {
		t.Errorf("%q", entries)
	}
}
