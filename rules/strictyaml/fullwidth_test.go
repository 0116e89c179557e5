package strictyaml_test

import (
	"fmt"
	"testing"

	"tallyman/rules/strictyaml"
)

// TestFullWidth has full-width characters that change the meaning of YAML, and texts that may hold such characters.
func TestFullWidth(t *testing.T) {
	t.Parallel()
	type entry struct {
		Title string   `yaml:"title"`
		Keys  []string `yaml:"keys"`
		Size  int      `yaml:"size"`
		Mode  string   `yaml:"mode" enum:"state,event"`
	}
	for src, want := range map[string]string{
		"title：Look\n":                    "1:6 full_width",
		"title: a\nsize：3\nmode: state\n": "2:5 full_width",
		"{title: a， size: 3}":             "1:10 full_width",
		"{title： a}":                      "1:7 full_width",
		"keys: ［a, b］":                    "1:7 full_width",
		"keys: [a， b]":                    "1:9 full_width",
		"keys: [a, b、c]":                  "1:12 full_width",
		"keys: 【a, b】":                    "1:7 full_width",
		"size: １":                         "1:7 full_width",
		"mode: “state”":                   "1:7 full_width",
		"title: 缺货（全部），请补：是\nkeys: ['a，b', \"c、d\"]": "",
		"title: “缺货” # 说明：无\nmode: state":            "",
		"title: |\n  备注：请补\n\tx: 1\nsize: {":         "yaml_syntax",
	} {
		f, problems := strictyaml.Parse("x.yaml", []byte(src))
		if len(problems) == 0 {
			problems = f.Decode(f.Root, &entry{})
		}
		got := ""
		if len(problems) > 0 {
			got = problems[0].Code
			if got == "full_width" {
				got = fmt.Sprintf("%d:%d %s", problems[0].Line, problems[0].Col, got)
			}
		}
		if got != want {
			t.Errorf("%q: got %q, want %q (%v)", src, got, want, problems)
		}
	}
}
