package docs

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"tallyman/docs/codetest"
)

// symptomPages are the indexes of symptoms.
var symptomPages = []string{"runbooks/README.md", "zh/runbooks/README.md"}

// quotation is a text that a table of an index quotes, with the pages that its row leads to.
type quotation struct {
	kind, text string // kind is that of the table: <!-- words: KIND -->
	pages      []string
	line       int
}

// TestSymptomsAreThere looks for each text that the indexes of symptoms quote, where … stands for anything. It searches, by the kind of the table:
//   - console: the literals of the texts of the console and the widget (internal/console/web/src)
//   - program: the string literals of the Go code without its tests, with … for what is put in
//   - codes: the same; a code is a literal, or begins one before a colon
//   - log: the messages of reference/logs.md
//   - alerts: the alerts of deploy/alerts/tallyman.yaml
//   - any: the Go code, or else the runbook that the row leads to, for texts of other programs
//
// The indexes have each alert, each message of the level ERROR, and each thing that the overview says needs attention.
func TestSymptomsAreThere(t *testing.T) {
	t.Parallel()
	program, codes := goTexts(t)
	console := consoleTexts(t)
	errors, messages := logMessages(t)
	alerts := alertNames(t)
	for _, page := range symptomPages {
		list := quotations(t, page)
		for _, q := range list {
			switch q.kind {
			case "console":
				q.mustBe(t, page, containsText(console, q.text))
			case "program":
				q.mustBe(t, page, containsText(program, q.text))
			case "codes":
				q.mustBe(t, page, codes[q.text])
			case "log":
				q.mustBe(t, page, slices.ContainsFunc(messages, func(m string) bool { return strings.HasPrefix(m, q.text) }))
			case "alerts":
				q.mustBe(t, page, slices.Contains(alerts, q.text))
			case "any":
				q.mustBe(t, page, containsText(program, q.text) || slices.ContainsFunc(q.pages, func(p string) bool {
					return strings.Contains(codetest.ReadFile(t, filepath.Join(filepath.Dir(page), p)), q.text)
				}))
			default:
				t.Errorf("%s:%d: a table of the kind %q", page, q.line, q.kind)
			}
			if len(q.pages) == 0 {
				t.Errorf("%s:%d leads nowhere", page, q.line)
			}
		}
		mustHave(t, page, list, "alerts", alerts, func(alert, quoted string) bool { return alert == quoted })
		mustHave(t, page, list, "log", errors, strings.HasPrefix)
		for key, texts := range attentionTexts(t, strings.HasPrefix(page, "zh/")) {
			if !slices.ContainsFunc(list, func(q quotation) bool { return q.kind == "console" && slices.Contains(texts, q.text) }) {
				t.Errorf("%s lacks %s of the overview, one of %q", page, key, texts)
			}
		}
		if len(list) < 150 {
			t.Errorf("%s: only %d texts were found", page, len(list))
		}
	}
}

func (q quotation) mustBe(t *testing.T, page string, there bool) {
	t.Helper()
	if !there {
		t.Errorf("%s:%d quotes %q, which is not in the %s texts", page, q.line, q.text, q.kind)
	}
}

// mustHave reports each text that no quotation of the kind stands for.
func mustHave(t *testing.T, page string, list []quotation, kind string, texts []string, standsFor func(text, quoted string) bool) {
	t.Helper()
	for _, text := range texts {
		if !slices.ContainsFunc(list, func(q quotation) bool { return q.kind == kind && standsFor(text, q.text) }) {
			t.Errorf("%s lacks %q, of %s", page, text, kind)
		}
	}
}

var (
	inlineCode = regexp.MustCompile("`([^`]+)`")
	wordsMark  = regexp.MustCompile(`^<!-- words: (\w+) -->$`)
)

// quotations are the texts in the first cells of the tables of a page that have a mark.
func quotations(t *testing.T, page string) (list []quotation) {
	t.Helper()
	kind := ""
	for i, line := range strings.Split(codetest.ReadFile(t, page), "\n") {
		if m := wordsMark.FindStringSubmatch(line); m != nil {
			kind = m[1]
			continue
		}
		if !strings.HasPrefix(line, "| ") {
			if !strings.HasPrefix(line, "|") {
				kind = "" // A table ends its kind.
			}
			continue
		}
		first, rest, _ := strings.Cut(strings.TrimPrefix(line, "| "), " | ")
		var pages []string
		for _, m := range link.FindAllStringSubmatch(rest, -1) {
			pages = append(pages, m[1])
		}
		for _, m := range inlineCode.FindAllStringSubmatch(first, -1) {
			list = append(list, quotation{kind: kind, text: m[1], pages: pages, line: i + 1})
		}
	}
	return list
}

// containsText tells whether a text has the quoted one. Both have … for what varies.
func containsText(texts []string, quoted string) bool {
	return slices.ContainsFunc(texts, func(text string) bool { return strings.Contains(text, quoted) })
}

var verb = regexp.MustCompile(`%[-+#0-9.]*[a-zA-Z]`)

// goTexts are the string literals of the Go code that is no test, with … where a text is put together, and those that may be codes.
func goTexts(t *testing.T) (texts []string, codes map[string]bool) {
	t.Helper()
	codes = map[string]bool{}
	for _, file := range sources(t) {
		if !strings.HasSuffix(file, ".go") || strings.HasSuffix(file, "_test.go") || strings.HasPrefix(file, "docs/") {
			continue
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), filepath.Join("..", file), nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(parsed, func(n ast.Node) bool {
			expr, ok := n.(ast.Expr)
			if !ok {
				return true
			}
			switch e := expr.(type) {
			case *ast.BasicLit:
				if value, err := strconv.Unquote(e.Value); err == nil && e.Kind == token.STRING {
					code, _, _ := strings.Cut(value, ":")
					codes[code] = true
					texts = append(texts, verb.ReplaceAllString(value, "…"))
				}
			case *ast.BinaryExpr:
				if e.Op == token.ADD {
					texts = append(texts, joined(e))
				}
			}
			return true
		})
	}
	return texts, codes
}

// joined is the text of an expression, with … for what is no literal.
func joined(expr ast.Expr) string {
	switch e := expr.(type) {
	case *ast.BasicLit:
		if value, err := strconv.Unquote(e.Value); err == nil && e.Kind == token.STRING {
			return verb.ReplaceAllString(value, "…")
		}
	case *ast.BinaryExpr:
		if e.Op == token.ADD {
			return joined(e.X) + joined(e.Y)
		}
	}
	return "…"
}

var (
	literalOfTypeScript = regexp.MustCompile(`"((?:[^"\\]|\\.)*)"|'((?:[^'\\]|\\.)*)'`)
	placeholder         = regexp.MustCompile(`\{\w+\}`)
)

// consoleTexts are the literals of the console and the widget, with … for what is put in.
func consoleTexts(t *testing.T) (texts []string) {
	t.Helper()
	for _, file := range sources(t) {
		if strings.HasPrefix(file, "internal/console/web/src/") && strings.HasSuffix(file, ".ts") && !strings.HasSuffix(file, ".test.ts") {
			texts = append(texts, literalsOf(codetest.ReadFile(t, "../"+file))...)
		}
	}
	return texts
}

func literalsOf(source string) (texts []string) {
	for _, m := range literalOfTypeScript.FindAllStringSubmatch(source, -1) {
		texts = append(texts, placeholder.ReplaceAllString(m[1]+m[2], "…"))
	}
	return texts
}

// attentionTexts are the texts of the overview for what needs attention, by their keys: in English, or in Chinese.
func attentionTexts(t *testing.T, chinese bool) map[string][]string {
	t.Helper()
	source := codetest.ReadFile(t, "../internal/console/web/src/pages/overview/text.ts")
	english, other, _ := strings.Cut(source, "\n  zh: {")
	if chinese {
		english = other
	}
	list := map[string][]string{}
	for _, entry := range regexp.MustCompile(`\n    \b`).Split(english, -1) {
		if key, value, _ := strings.Cut(entry, ":"); strings.HasPrefix(key, "wrong") {
			list[key] = literalsOf(value)
		}
	}
	if len(list) < 20 {
		t.Fatalf("only %d texts were found", len(list))
	}
	return list
}

// logMessages are the messages of reference/logs.md: those of the level ERROR, and all.
func logMessages(t *testing.T) (errors, all []string) {
	t.Helper()
	level := ""
	for line := range strings.Lines(codetest.ReadFile(t, "reference/logs.md")) {
		if heading, ok := strings.CutPrefix(line, "## "); ok {
			level = strings.TrimSpace(heading)
		}
		cells := strings.Split(line, " | ")
		message, isRow := strings.CutPrefix(cells[0], "| ")
		if !isRow || len(cells) != 2 {
			continue
		}
		all = append(all, message)
		if level == "ERROR" && message != "message" && message != "---" {
			errors = append(errors, message)
		}
	}
	return errors, all
}

// alertNames are the names of the alerts.
func alertNames(t *testing.T) (names []string) {
	t.Helper()
	var file struct {
		Groups []struct{ Rules []struct{ Alert string } }
	}
	if err := yaml.Unmarshal([]byte(codetest.ReadFile(t, "../deploy/alerts/tallyman.yaml")), &file); err != nil {
		t.Fatal(err)
	}
	for _, g := range file.Groups {
		for _, rule := range g.Rules {
			names = append(names, rule.Alert)
		}
	}
	return names
}
