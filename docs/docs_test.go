// Package docs holds the pages for readers; its tests hold them against the program.
package docs

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"tallyman/docs/codetest"
	"tallyman/rules"
	"tallyman/rules/catalog"
	"tallyman/rules/deliver"
	"tallyman/rules/problem"
)

// The rule of README.md is a sound one on a site that has what it names, and with its mistake it is told as shown.
func TestTheRuleOfTheReadme(t *testing.T) {
	t.Parallel()
	page := codetest.ReadFile(t, "../README.md")
	rule := between(t, page, "```yaml\n", "```")
	types, problems := catalog.Load("../configs/types.yaml")
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	set := rules.LoadFile("rules/stock.yaml", []byte(rule))
	rules.Check(set, rules.Site{Sources: []string{"wms"}, Sinks: deliver.Sinks{Types: map[string]string{"inbox": "inbox"}}, Types: types})
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
	field := regexp.MustCompile(`"(\w+)":`)
	want := outer(field, codetest.ReadFile(t, "../internal/api/testdata/page.json"))
	for _, page := range []string{"../README.md", "../README.zh-CN.md"} {
		if shown := outer(field, between(t, codetest.ReadFile(t, page), "```json\n", "```")); !slices.Equal(shown, want) {
			t.Errorf("%s shows %v, the API answers %v", page, shown, want)
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

// link is a link of Markdown; its target stands in the parentheses.
var link = regexp.MustCompile(`\]\(([^)\s]+)\)`)

// A link of a page leads somewhere: to a file that is there, and to a heading that it has.
func TestLinksLeadSomewhere(t *testing.T) {
	t.Parallel()
	n := 0
	for _, page := range pages(t) {
		for _, m := range link.FindAllStringSubmatch(codetest.ReadFile(t, page), -1) {
			if strings.Contains(m[1], "://") {
				continue
			}
			n++
			path, heading, _ := strings.Cut(m[1], "#")
			target := page
			if path != "" {
				target = filepath.Join(filepath.Dir(page), path)
			}
			if _, err := os.Stat(target); err != nil {
				t.Errorf("%s links to %s, which is not there", page, m[1])
			} else if heading != "" && !strings.Contains(anchors(codetest.ReadFile(t, target)), "#"+heading+"\n") {
				t.Errorf("%s links to %s, a heading that is not there", page, m[1])
			}
		}
	}
	if n < 15 {
		t.Errorf("only %d links were found", n)
	}
}

// Every page stands in the index of docs, every decision in its own index, and README.md leads to the index of docs.
func TestEveryPageIsLinked(t *testing.T) {
	t.Parallel()
	for glob, index := range map[string]string{
		"../docs/README.md": "../README.md", "../docs/zh/README.md": "../README.zh-CN.md", "zh/*/*.md": "zh/README.md", "*.md": "README.md", "tutorial/*.md": "README.md", "how-to/*.md": "README.md", "runbooks/*.md": "README.md",
		"reference/*.md": "README.md", "explanation/*.md": "README.md", "adr/*.md": "adr/README.md",
	} {
		found, err := filepath.Glob(glob)
		if err != nil {
			t.Fatal(err)
		}
		for _, page := range found {
			rel, err := filepath.Rel(filepath.Dir(index), page)
			if err != nil {
				t.Fatal(err)
			}
			if filepath.Clean(page) != filepath.Clean(index) && !strings.Contains(codetest.ReadFile(t, index), "("+rel+")") {
				t.Errorf("%s does not link to %s", index, rel)
			}
		}
	}
}

// pages are all that are written for people.
func pages(t *testing.T) []string {
	t.Helper()
	all := []string{"../README.md", "../README.zh-CN.md", "../CHANGELOG.md", "../CONTRIBUTING.md", "../SECURITY.md"}
	for _, glob := range []string{"*.md", "*/*.md", "zh/*/*.md", "../examples/*/README.md", "../examples/*/*/README.md", "../bench/README.md", "../clients/*/README.md"} {
		found, err := filepath.Glob(glob)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, found...)
	}
	return all
}

// anchors are the headings of a page as links name them, each with # before and a new line behind.
func anchors(page string) string {
	var b strings.Builder
	for _, m := range regexp.MustCompile(`(?m)^#+ (.+)$`).FindAllStringSubmatch(page, -1) {
		name := regexp.MustCompile(`[^\pL\pN_\- ]`).ReplaceAllString(strings.ToLower(m[1]), "")
		b.WriteString("#" + strings.ReplaceAll(name, " ", "-") + "\n")
	}
	return b.String()
}

// Whoever says codes holds their part of error-codes.md by docs/codetest. A part that nobody holds would not be missed there: so each
// section has, whatever its part, an outcome that names its code.
func TestEveryErrorCodeHasAnExample(t *testing.T) {
	t.Parallel()
	held := regexp.MustCompile(`^(Rule files: .*|Rule tests|The configuration|What keeps a node from starting|The ledger|Silences and subscriptions|Failed runs)$`)
	outcome := regexp.MustCompile("(?ms)^```text\n(.*?)^```$")
	n := 0
	for _, part := range strings.Split(codetest.ReadFile(t, "reference/error-codes.md"), "\n## ")[1:] {
		name, text, _ := strings.Cut(part, "\n")
		sections := strings.Split(text, "\n### ")[1:]
		if len(sections) > 0 && !held.MatchString(name) {
			t.Errorf("no test runs the examples below %q: hold them by codetest.Part where those codes are made, and name the part here", name)
		}
		for _, section := range sections {
			n++
			code, text, _ := strings.Cut(section, "\n")
			m := outcome.FindStringSubmatch(text)
			if m == nil || !strings.Contains(m[1], code+": ") {
				t.Errorf("%s has no outcome that names it: write an example below it, and let the test of its part add the outcome with -update", code)
			}
		}
	}
	if n < 100 {
		t.Errorf("only %d codes; where have they gone?", n)
	}
}

// The task for VS Code in how-to/editor.md is JSON, and finds the parts of what `rules check` prints.
func TestTheProblemMatcher(t *testing.T) {
	t.Parallel()
	var file struct {
		Tasks []struct {
			ProblemMatcher struct {
				Pattern struct {
					Regexp                                string
					File, Line, Column, Severity, Message int
				}
			}
		}
	}
	if err := json.Unmarshal([]byte(between(t, codetest.ReadFile(t, "how-to/editor.md"), "`.vscode/tasks.json`:\n\n```json\n", "```")), &file); err != nil {
		t.Fatal(err)
	}
	p := file.Tasks[0].ProblemMatcher.Pattern
	found := func(line string) []string {
		m := regexp.MustCompile(p.Regexp).FindStringSubmatch(line)
		if m == nil {
			return nil
		}
		return []string{m[p.File], m[p.Line], m[p.Column], m[p.Severity], m[p.Message]}
	}
	line := problem.At("rules/stock.yaml", "  crom: x", 7, 3, "unknown_field", `there is no field "crom": x`, "").Error()
	if got, want := found(line), []string{"rules/stock.yaml", "7", "3", "", `unknown_field: there is no field "crom": x`}; !slices.Equal(got, want) {
		t.Errorf("%s: %q", line, got)
	}
	warning := "C:/rules/stock.yaml:4:11: warning: source_unreachable: away"
	if got, want := found(warning), []string{"C:/rules/stock.yaml", "4", "11", "warning", "source_unreachable: away"}; !slices.Equal(got, want) {
		t.Errorf("%s: %q", warning, got)
	}
}
