package rules_test

import (
	"os"
	"regexp"
	"testing"

	"tallyman/rules"
	"tallyman/rules/catalog"
)

// block is a fenced example of a document, with the heading above it.
type block struct{ heading, flags, text string }

func blocks(t *testing.T, path string) []block {
	t.Helper()
	src, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var all []block
	heading := ""
	fence := regexp.MustCompile("(?ms)^#+ (.*?)$|^```yaml *(.*?)\n(.*?)^```$")
	for _, m := range fence.FindAllStringSubmatch(string(src), -1) {
		if m[1] != "" {
			heading = m[1]
		} else {
			all = append(all, block{heading, m[2], m[3]})
		}
	}
	return all
}

// The examples of the reference are rules, and types, that load.
func TestRuleReferenceExamplesLoad(t *testing.T) {
	known := site
	known.Types = siteTypes(t)
	n := 0
	for _, b := range blocks(t, "../docs/reference/rule-file.md") {
		if b.flags == "test" {
			continue // engine/trial/ruletest runs it
		}
		if b.flags == "types" {
			if _, problems := catalog.Parse("types.yaml", []byte(b.text), catalog.OnSinks(site.Sinks)); len(problems) > 0 {
				t.Errorf("%s: %v", b.heading, problems)
			}
			continue
		}
		n++
		set := rules.LoadFile("f.yaml", []byte(b.text))
		rules.Check(set, known)
		for _, p := range set.Problems {
			t.Errorf("%s: %s", b.heading, p.String())
		}
		if len(set.Rules) == 0 {
			t.Errorf("%s: no rules", b.heading)
		}
	}
	if n < 3 {
		t.Errorf("only %d examples were found", n)
	}
}
