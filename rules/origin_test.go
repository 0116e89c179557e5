package rules_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tallyman/rules"
)

// threeRules is a file of three rules. The tests rewrite the rule negative.
const threeRules = `version: 1
defaults: {source: wms, owner: inventory-control, notice: {type: REP_NOTICE, warehouse: wh}}
rules:
  # the first
  - id: late-wave
    schedule: &often {cron: "@hourly"}
    probe: {sql: SELECT wave_no FROM wave}
    key: [wave_no]
    notice: {title: Late}
    deliver: &told [{sink: inbox}]

  # what drives a bin below zero
  - id: negative
    schedule: *often
    # a comment of its own
    probe:
      sql: |
        SELECT wh_id, bin_code FROM bin_stock
        # no comment but text
    key: [bin_code]
    notice: {warehouse: wh_id, title: Look}
    deliver: *told
    # and one at its end

  # of the next
  - {id: third, schedule: *often, probe: {sql: SELECT a FROM b}, key: [a],
     notice: {title: "}"}, deliver: *told}
# the end
`

const negative = `  - id: negative
    schedule: *often
    # a comment of its own
    probe:
      sql: |
        SELECT wh_id, bin_code FROM bin_stock
        # no comment but text
    key: [bin_code]
    notice: {warehouse: wh_id, title: Look}
    deliver: *told
    # and one at its end`

func loaded(t *testing.T, src, id string) *rules.Rule {
	t.Helper()
	set := rules.LoadFile("stock.yaml", []byte(src))
	if err := set.Problems.Err(); err != nil {
		t.Fatal(err)
	}
	r := set.Find(id, "")
	if r == nil {
		t.Fatalf("there is no %s", id)
	}
	return r
}

func TestHowARuleIsWritten(t *testing.T) {
	t.Parallel()
	third := "  - {id: third, schedule: *often, probe: {sql: SELECT a FROM b}, key: [a],\n     notice: {title: \"}\"}, deliver: *told}"
	flat := strings.NewReplacer("  - ", "- ", "\n    ", "\n  ").Replace(threeRules)
	inFlow := `{version: 1, defaults: {source: wms}, rules: [{id: a, schedule: {cron: "@hourly"}, probe: {sql: "SELECT '}' AS x"}, # }
  key: [x], notice: {type: REP_NOTICE, warehouse: wh, title: 'it''s {'}, deliver: [{sink: inbox}]}, {id: b, schedule: {cron: "@hourly"}, probe: {sql: SELECT a FROM b}, key: [a], notice: {type: REP_NOTICE, warehouse: wh, title: B}, deliver: [{sink: inbox}]}]}`
	dashed := strings.Replace(threeRules, "  - id: negative\n", "  -\n    id: negative\n", 1)
	for name, c := range map[string]struct {
		src, id, want string
		line          int
	}{
		"in the middle": {threeRules, "negative", negative, 13},
		"last, in { }":  {threeRules, "third", third, 26},
		"windows":       {strings.ReplaceAll(threeRules, "\n", "\r\n"), "negative", strings.ReplaceAll(negative, "\n", "\r\n"), 13},
		"not indented":  {flat, "third", strings.ReplaceAll(strings.Replace(third, "  - ", "- ", 1), "\n    ", "\n  "), 26},
		"a dash alone":  {dashed, "negative", strings.Replace(negative, "- id", "-\n    id", 1), 13},
		"before defaults": {
			"rules:\n  - {id: x, source: wms, schedule: {cron: '@hourly'}, probe: {sql: SELECT a FROM b}, key: [a], deliver: [{sink: inbox}]}\n\ndefaults: {notice: {type: REP_NOTICE, warehouse: wh, title: X}}\nversion: 1\n",
			"x", "  - {id: x, source: wms, schedule: {cron: '@hourly'}, probe: {sql: SELECT a FROM b}, key: [a], deliver: [{sink: inbox}]}", 2,
		},
		"a list in [ ]": {
			inFlow, "b", `{id: b, schedule: {cron: "@hourly"}, probe: {sql: SELECT a FROM b}, key: [a], notice: {type: REP_NOTICE, warehouse: wh, title: B}, deliver: [{sink: inbox}]}`, 2,
		},
		"quotes and comments with brackets": {inFlow, "a", inFlow[strings.Index(inFlow, "{id: a"):strings.Index(inFlow, ", {id: b")], 1},
	} {
		w := loaded(t, c.src, c.id).Written()
		if w.YAML != c.want || w.Line != c.line || w.File != "stock.yaml" {
			t.Errorf("%s: line %d, %q\nwant line %d, %q", name, w.Line, w.YAML, c.line, c.want)
		}
	}
}

// Written finds the text of a rule also in a bad file, and in a file that is not YAML.
func TestHowABadRuleIsWritten(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	for name, text := range map[string]string{
		"bad.yaml":    strings.Replace(threeRules, "title: Look", "titel: Look", 1),
		"broken.yaml": "version: 1\nrules:\n  - title: {{ .x }} y\n    id: \"lost\" # found\n    key: [a]\n# end\n  - id: other\n",
	} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	set := rules.Load([]string{folder})
	if set.Find("negative", "") != nil {
		t.Error("a bad rule is among the sound ones")
	}
	if w, ok := set.Written("negative"); !ok || w.YAML != strings.Replace(negative, "title: Look", "titel: Look", 1) || w.Line != 13 {
		t.Errorf("%v %+v", ok, w)
	}
	if w, ok := set.Written("lost"); !ok || w.YAML != "  - title: {{ .x }} y\n    id: \"lost\" # found\n    key: [a]" || w.Line != 3 || filepath.Base(w.File) != "broken.yaml" {
		t.Errorf("%v %+v", ok, w)
	}
	if w, ok := set.Written("nowhere"); ok {
		t.Errorf("%+v", w)
	}
}

// A rule that is rewritten with its own text stays the same, with any indentation, and with or without its dash.
func TestRewrittenAsItWas(t *testing.T) {
	t.Parallel()
	r := loaded(t, threeRules, "negative")
	mapping := "id: negative\n" + strings.ReplaceAll(strings.SplitN(negative, "\n", 2)[1], "\n    ", "\n")[4:]
	for name, text := range map[string]string{
		"as in the file": negative, "less indented": strings.ReplaceAll(negative[2:], "\n  ", "\n"), "more indented": "      " + strings.ReplaceAll(negative, "\n", "\n      "),
		"a mapping": mapping, "after a comment": "# mine\n" + mapping + "\n\n",
	} {
		w := r.Rewrite(text)
		if len(w.Set.Problems) > 0 || len(w.Set.Rules) != 1 || w.Set.Rules[0].Checksum != r.Checksum {
			t.Errorf("%s: %v", name, w.Set.Problems)
		}
	}
	if w := r.Rewrite(strings.Replace(negative, "Look", "Look!", 1)); len(w.Set.Rules) != 1 || w.Set.Rules[0].Checksum == r.Checksum {
		t.Errorf("%v", w.Set.Problems)
	}
}

// A problem of a text has its place in the text.
func TestRewrittenBadly(t *testing.T) {
	t.Parallel()
	r := loaded(t, threeRules, "negative")
	for name, c := range map[string]struct{ text, want string }{
		"a field":          {strings.Replace(negative, "title: Look", "titel: Look", 1), `:9:32: unknown_field`},
		"less indented":    {strings.ReplaceAll(strings.Replace(negative, "title: Look", "titel: Look", 1)[2:], "\n  ", "\n"), `:9:30: unknown_field`},
		"a mapping":        {"id: negative\nschedule: *often\nkey: [bin_code, 7]\nprobe: {sql: SELECT bin_code FROM b}\nnotice: {title: X}\ndeliver: *told\n", `:3:17: wrong_type`},
		"the SQL":          {strings.Replace(negative, "SELECT wh_id", "DELETE wh_id", 1), `:6:9: sql_writes`},
		"syntax":           {strings.Replace(negative, "title: Look", "title: {{ .x }} y", 1), `:9:`},
		"another id":       {strings.Replace(negative, "id: negative", "id: positive", 1), `:1:9: bad_id`},
		"another's id":     {strings.Replace(negative, "id: negative", "id: late-wave", 1), `:1:9: duplicate_id`},
		"no id":            {"schedule: *often", `:1:`},
		"two rules":        {negative + "\n" + strings.Replace(negative, "id: negative", "id: more", 1), `:12:5: conflict`},
		"nothing":          {"# nothing", `:1:1: wrong_type`},
		"out of its place": {negative + "\nmore: 1", `stock.yaml:26:3: yaml_syntax`},
		"elsewhere":        {"id: negative\nnotice: 7", `:2:9: wrong_type`},
	} {
		w := r.Rewrite(c.text)
		if len(w.Set.Rules) != 0 || len(w.Set.Problems) == 0 {
			t.Errorf("%s: nothing is wrong", name)
			continue
		}
		got := ""
		for _, p := range w.Set.Problems {
			got += w.Place(p).Error() + "\n"
		}
		if !strings.Contains(got, c.want) {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
	// Defaults that nothing needs any more stand in the file, not in the text.
	behind := "version: 1\nrules:\n" + negative[:strings.Index(negative, "    schedule")] + "    source: wms\n    schedule: {cron: '@hourly'}\n    probe: {sql: 'SELECT a FROM b WHERE a > :least'}\n    key: [a]\n    deliver: [{sink: inbox}]\ndefaults: {probe: {params: {least: 1}}, notice: {type: REP_NOTICE, warehouse: wh, title: X}}\n"
	w := loaded(t, behind, "negative").Rewrite("id: negative\nsource: wms\nschedule: {cron: '@hourly'}\nprobe:\n  sql: SELECT a FROM b\nkey: [a]\n\n\n\n\n\ndeliver: [{sink: inbox}]\n")
	if len(w.Set.Problems) != 1 {
		t.Fatal(w.Set.Problems)
	}
	if p := w.Place(w.Set.Problems[0]); p.File != "stock.yaml" || fmt.Sprint(p.Line, ":", p.Col, " ", p.Code) != "9:29 param_unused" {
		t.Error(p.Error())
	}
}

func TestRulesOfNoFile(t *testing.T) {
	t.Parallel()
	r := &rules.Rule{ID: "made", File: "none"}
	if w := r.Written(); w.YAML != "" || w.Line != 0 || w.File != "none" {
		t.Errorf("%+v", w)
	}
	if w := r.Rewrite("id: made"); len(w.Set.Rules) != 0 || len(w.Set.Problems) != 1 {
		t.Errorf("%+v", w.Set)
	}
}
