package rules_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"tallyman/rules"
	"tallyman/rules/catalog"
	"tallyman/rules/problem"
)

// block is a fenced example of a document, and the heading that it stands below.
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

// Every example of docs/error-codes.md gives the code that it stands for.
func TestErrorCodesDocument(t *testing.T) {
	all := blocks(t, "../docs/error-codes.md")
	base := all[0]
	if base.flags != "base" {
		t.Fatalf("the first example is %q", base.flags)
	}
	documented := map[string]bool{}
	for _, b := range all[1:] {
		t.Run(b.heading, func(t *testing.T) {
			documented[b.heading] = true
			var codes []string
			for _, p := range exampleProblems(t, base.text, b) {
				codes = append(codes, p.Code)
			}
			if !slices.Contains(codes, b.heading) {
				t.Errorf("the example gives %v", codes)
			}
		})
	}
	if len(documented) < 50 {
		t.Errorf("only %d examples were found", len(documented))
	}
}

func exampleProblems(t *testing.T, base string, b block) problem.List {
	t.Helper()
	if strings.HasPrefix(b.text, "types:") {
		_, l := catalog.Parse("types.yaml", []byte(b.text))
		return l
	}
	src := b.text
	if !strings.HasPrefix(src, "version:") {
		src = base + "    " + strings.ReplaceAll(strings.TrimSpace(src), "\n", "\n    ") + "\n"
	}
	columns, given := strings.CutPrefix(b.flags, "columns: ")
	if !given {
		columns = "wh_id int, bin_code text, sku text, qty decimal, changed_at time"
	}
	return problemsOf(t, "f.yaml", "# columns: "+columns+"\n"+src)
}

// The examples of the reference are rules that load.
func TestRuleReferenceExamplesLoad(t *testing.T) {
	known := site
	known.Types = siteTypes(t)
	n := 0
	for _, b := range blocks(t, "../docs/rule-reference.md") {
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

// Every code that the packages know has its heading in the document, and the other way round.
func TestEveryCodeIsDocumented(t *testing.T) {
	var sources []string
	for _, pattern := range []string{"*.go", "*/*.go"} {
		found, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		sources = append(sources, found...)
	}
	constant := regexp.MustCompile(`(?m)^\s*Code[A-Z]\w* +(?:Code +)?= +"(\w+)"`)
	known := map[string]bool{}
	for _, path := range sources {
		src, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range constant.FindAllStringSubmatch(string(src), -1) {
			known[m[1]] = true
		}
	}
	if len(known) < 50 {
		t.Fatalf("only %d codes were found", len(known))
	}
	doc, err := os.ReadFile("../docs/error-codes.md")
	if err != nil {
		t.Fatal(err)
	}
	documented := map[string]bool{}
	for _, m := range regexp.MustCompile(`(?m)^### (\w+)$`).FindAllStringSubmatch(string(doc), -1) {
		documented[m[1]] = true
	}
	for code := range known {
		if !documented[code] {
			t.Errorf("%s is not documented", code)
		}
	}
	for code := range documented {
		if !known[code] {
			t.Errorf("%s is documented, but no such code exists", code)
		}
	}
}
