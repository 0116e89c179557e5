package rules_test

import (
	"encoding/hex"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"tallyman/rules"
	"tallyman/rules/catalog"
	"tallyman/rules/condition"
	"tallyman/rules/problem"
	"tallyman/rules/row"
)

const codesPage = "../docs/error-codes.md"

// withoutExample are the codes whose example would be out of proportion.
var withoutExample = map[string]bool{rules.CodeTooMany: true}

// A section of the page is a heading, the code, words, and an example: a yaml block, whose first line may carry flags,
// followed by a text block that holds what `tallyman rules check` says of it. The examples are run and compared;
// -update writes the text blocks anew.
//
//	columns: qty int, …   what the probe returns, in the place of the page's usual columns
//	row: qty 0, …         judge this row; columns that are not named are NULL
//	path: NAME            load this file in the place of the example
//	repeated: N           the last line of the example comes N times
//	bytes                 \xNN is one byte
var codeSection = regexp.MustCompile("(?ms)^### (\\w+)\n(.*?)(?:^##|\\z)")

var codeExample = regexp.MustCompile("(?s)```yaml *([^\n]*)\n(.*?)```\n(?:```text\n(.*?)```\n)?")

func TestErrorCodesDocument(t *testing.T) {
	page := readFile(t, codesPage)
	base := codeExample.FindStringSubmatch(page)
	if base == nil || base[1] != "base" {
		t.Fatalf("the first example of %s is not the base of the others", codesPage)
	}
	documented := map[string]string{}
	for at := 0; ; {
		m := codeSection.FindStringSubmatchIndex(page[at:])
		if m == nil {
			break
		}
		documented[page[at+m[2]:at+m[3]]] = page[at+m[4] : at+m[5]]
		at += m[5]
	}
	known := knownCodes(t)
	for code := range known {
		if _, ok := documented[code]; !ok {
			t.Errorf("%s does not document %s: add a section\n\n### %s\nWhat it means.\n```yaml\nan example: a piece of a rule, or a whole file from version: on\n```\n\nand let `go test ./rules -run ErrorCodes -update` add the output", codesPage, code, code)
		}
	}
	for code, section := range documented {
		t.Run(code, func(t *testing.T) {
			if !known[code] {
				t.Errorf("%s documents %s, but no such code exists: remove its section", codesPage, code)
			}
			if !withoutExample[code] {
				page = strings.Replace(page, section, checkedExample(t, code, section, base[2]), 1)
			}
		})
	}
	if *update {
		if err := os.WriteFile(codesPage, []byte(page), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// checkedExample compares the output of the section's example with what stands below it, and returns the section as it should be.
func checkedExample(t *testing.T, code, section, base string) string {
	t.Helper()
	m := codeExample.FindStringSubmatch(section)
	if m == nil {
		t.Errorf("the section %s of %s has no example: add a ```yaml block", code, codesPage)
		return section
	}
	output := exampleOutput(t, base, m[1], m[2])
	if !strings.Contains(output, code+": ") {
		t.Errorf("the example of %s gives something else:\n%s", code, output)
	}
	if m[3] != output && !*update {
		t.Errorf("below the example of %s must stand (go test ./rules -run ErrorCodes -update writes it):\n```text\n%s```", code, output)
	}
	return strings.Replace(section, m[0], "```yaml"+strings.TrimRight(" "+m[1], " ")+"\n"+m[2]+"```\n```text\n"+output+"```\n", 1)
}

// exampleOutput is what the check of the example says.
func exampleOutput(t *testing.T, base, flags, text string) string {
	t.Helper()
	columns := "wh_id int, bin_code text, sku text, qty decimal, changed_at time"
	flag, value, _ := strings.Cut(flags, ": ")
	src := text
	switch {
	case strings.HasPrefix(text, "types:"):
		_, l := catalog.Parse("types.yaml", []byte(text))
		return shown(l)
	case flag == "path":
		return shown(rules.Load([]string{value}).Problems)
	case flag == "columns":
		columns = value
	case flag == "repeated":
		lines := strings.SplitAfter(text, "\n")
		n, err := strconv.Atoi(value)
		if err != nil {
			t.Fatal(err)
		}
		src += strings.Repeat(lines[len(lines)-2], n-1)
	case flag == "bytes":
		src = regexp.MustCompile(`\\x..`).ReplaceAllStringFunc(text, func(s string) string {
			var b [1]byte
			if _, err := hex.Decode(b[:], []byte(s[2:])); err != nil {
				t.Fatal(err)
			}
			return string(b[:])
		})
	}
	if !strings.HasPrefix(src, "version:") {
		src = base + "    " + strings.ReplaceAll(strings.TrimSpace(src), "\n", "\n    ") + "\n"
	}
	known := site
	known.Types = siteTypes(t)
	set := rules.LoadFile("rule.yaml", []byte(src))
	rules.Check(set, known)
	found := set.Problems
	for _, r := range set.Rules {
		p, l := rules.Compile(r, columnsOf(t, columns), known.Types)
		found = append(found, l...)
		if flag == "row" {
			return judged(t, p, columnsOf(t, columns), value)
		}
	}
	return shown(found)
}

// shown is what `tallyman rules check` prints.
func shown(l problem.List) string {
	var b strings.Builder
	for _, p := range l {
		b.WriteString(p.String() + "\n")
	}
	return b.String()
}

// judged is the error of a row with one number in it, as the samples of a run show it.
func judged(t *testing.T, p *rules.Program, columns []row.Column, value string) string {
	t.Helper()
	name, number, _ := strings.Cut(value, " ")
	v, err := row.ParseDecimal(number)
	if err != nil {
		t.Fatal(err)
	}
	r := row.New(columns)
	r.Values[r.Index(name)] = v
	_, err = p.Match(r)
	for _, e := range condition.Errors(err) {
		return string(e.Code) + ": " + e.Message + "\n"
	}
	t.Fatalf("the row is judged without an error: %v", err)
	return ""
}

// knownCodes are those that the packages declare.
func knownCodes(t *testing.T) map[string]bool {
	t.Helper()
	constant := regexp.MustCompile(`(?m)^\s*Code[A-Z]\w* +(?:Code +)?= +"(\w+)"`)
	known := map[string]bool{}
	for _, pattern := range []string{"*.go", "*/*.go"} {
		files, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range files {
			for _, m := range constant.FindAllStringSubmatch(readFile(t, path), -1) {
				known[m[1]] = true
			}
		}
	}
	if len(known) < 50 {
		t.Fatalf("only %d codes were found", len(known))
	}
	return known
}

func readFile(t *testing.T, path string) string {
	t.Helper()
	src, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(src)
}
