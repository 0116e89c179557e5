package docs

import (
	"strings"
	"testing"

	"tallyman/rules"
	"tallyman/rules/catalog"
)

// The rule of README.md is a sound one on a site that has what it names, and with its mistake it is told as shown.
func TestTheRuleOfTheReadme(t *testing.T) {
	t.Parallel()
	page := read(t, "../README.md")
	rule := between(t, page, "```yaml\n", "```")
	types, problems := catalog.Load("../configs/types.yaml")
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	set := rules.LoadFile("rules/stock.yaml", []byte(rule))
	rules.Check(set, rules.Known{Sources: []string{"wms"}, Sinks: map[string]string{"inbox": "inbox"}, Types: types})
	for _, p := range set.Problems {
		t.Errorf("the rule: %s", p.String())
	}
	set = rules.LoadFile("rules/stock.yaml", []byte(strings.Replace(rule, "timezone:", "timezon:", 1)))
	shown := between(t, page, "$ tallyman rules check rules/\n", "1 problem;")
	if len(set.Problems) != 1 || set.Problems[0].String()+"\n" != shown {
		t.Errorf("the page shows\n%s\ngot %v", shown, set.Problems)
	}
}

// between returns what stands between the first start and the end after it.
func between(t *testing.T, page, start, end string) string {
	t.Helper()
	_, rest, ok := strings.Cut(page, start)
	text, _, closed := strings.Cut(rest, end)
	if !ok || !closed {
		t.Fatalf("README.md has no %q … %q", start, end)
	}
	return text
}
