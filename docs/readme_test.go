package docs

import (
	"regexp"
	"slices"
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
	rules.Check(set, rules.Site{Sources: []string{"wms"}, Sinks: map[string]string{"inbox": "inbox"}, Types: types})
	for _, p := range set.Problems {
		t.Errorf("the rule: %s", p.String())
	}
	set = rules.LoadFile("rules/stock.yaml", []byte(strings.Replace(rule, "timezone:", "timezon:", 1)))
	shown := between(t, page, "$ tallyman rules check rules/\n", "1 problem;")
	if len(set.Problems) != 1 || set.Problems[0].String()+"\n" != shown {
		t.Errorf("the page shows\n%s\ngot %v", shown, set.Problems)
	}
}

// The notice of README.md has the fields of the API's own answers, in their order.
func TestTheNoticeOfTheReadme(t *testing.T) {
	t.Parallel()
	page := read(t, "../README.md")
	for form, c := range map[string]struct{ fence, golden, field string }{
		"JSON": {"```json\n", "../internal/api/testdata/page.json", `"(\w+)":`},
		"XML":  {"```xml\n", "../internal/api/testdata/page.xml", `<(\w+)[ >]`},
	} {
		field := regexp.MustCompile(c.field)
		shown := outer(field, between(t, page, c.fence, "```"))
		if want := outer(field, read(t, c.golden)); !slices.Equal(shown, want) {
			t.Errorf("%s: the page shows %v, the API answers %v", form, shown, want)
		}
	}
}

// outer returns the names in order, without those within data and labels, which differ from type to type.
func outer(field *regexp.Regexp, text string) []string {
	text = regexp.MustCompile(`(?s)"(data|labels)":\{.*?\}`).ReplaceAllString(text, `"$1":`)
	for _, inner := range []string{"data", "labels"} {
		text = regexp.MustCompile(`(?s)<`+inner+`>.*?</`+inner+`>`).ReplaceAllString(text, "<"+inner+">")
	}
	var names []string
	for _, m := range field.FindAllStringSubmatch(text, -1) {
		names = append(names, m[1])
	}
	return names
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
