// Package codetest holds docs/error-codes.md against the program: each code that the program says has a section, each section an
// example, and what stands below the example is what the program says of it.
//
// A section is a heading, the code, words, blocks that make the example, and a text block with the outcome:
//
//	### bad_cron
//	The cron does not parse.
//	```yaml flags of the example
//	…
//	```
//	```text
//	…
//	```
//
// Each part of the page, a heading or several, is held by the test of the package that says its codes. With Update the test writes the text blocks anew.
package codetest

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// Part is what one test holds.
type Part struct {
	Page      string                                // the path of error-codes.md
	Headings  string                                // how the part's headings begin
	Codes     map[string]bool                       // those that the program says
	Elsewhere []string                              // codes whose outcome another test holds, by Outcome
	Run       func(t *testing.T, e *Example) string // what the program says of the example, lines with their ends
	Update    bool
	Command   string // that runs the test
	Sketch    string // how a new example may look
}

// Test runs the examples of the part.
func (p Part) Test(t *testing.T) {
	t.Helper()
	text := readFile(t, p.Page)
	sections := sectionsOf(text, p.Headings)
	for _, code := range slices.Sorted(maps.Keys(p.Codes)) {
		if !slices.ContainsFunc(sections, func(s *section) bool { return s.code == code }) {
			t.Errorf("%s does not document %s: add below %q a section\n\n### %s\nWhat it means.\n%s\nand let `%s -update` add the outcome", p.Page, code, p.Headings, code, p.Sketch, p.Command)
		}
	}
	for _, s := range slices.Backward(sections) { // so that an outcome that grows moves none that is still to come
		t.Run(s.code, func(t *testing.T) {
			if !p.Codes[s.code] {
				t.Fatalf("%s documents %s below %q, but nothing says it: remove the section", p.Page, s.code, p.Headings)
			}
			text = text[:s.start] + p.checked(t, s) + text[s.end:]
		})
	}
	if p.Update {
		if err := os.WriteFile(p.Page, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// checked compares the outcome of the section's example with what stands below it, and returns the section as it should be.
func (p Part) checked(t *testing.T, s *section) string {
	t.Helper()
	if slices.Contains(p.Elsewhere, s.code) {
		return s.text
	}
	e, outcome := s.example()
	if len(e.Blocks) == 0 {
		t.Errorf("the section %s of %s has no example: add one, as\n%s", s.code, p.Page, p.Sketch)
		return s.text
	}
	got := p.Run(t, e)
	if !strings.Contains(got, s.code+": ") {
		t.Errorf("the example of %s gives something else:\n%s", s.code, got)
	}
	if got != outcome && !p.Update {
		t.Errorf("below the example of %s must stand (`%s -update` writes it):\n```text\n%s```", s.code, p.Command, got)
	}
	return s.with(got)
}

// Outcome holds the outcome of a code that no rule or file brings about against what the program says.
func Outcome(t *testing.T, page, headings, code, got string) {
	t.Helper()
	for _, s := range sectionsOf(readFile(t, page), headings) {
		if s.code != code {
			continue
		}
		if _, outcome := s.example(); outcome != got {
			t.Errorf("in the section %s of %s must stand:\n```text\n%s```", code, page, got)
		}
		return
	}
	t.Errorf("%s has no section %s below %q", page, code, headings)
}

// Declared are the codes that the pattern's first group finds in the files, tests left out.
func Declared(t *testing.T, pattern string, globs ...string) map[string]bool {
	t.Helper()
	code := regexp.MustCompile(pattern)
	found := map[string]bool{}
	for _, glob := range globs {
		paths, err := filepath.Glob(glob)
		if err != nil {
			t.Fatal(err)
		}
		n := len(found)
		for _, path := range paths {
			if strings.HasSuffix(path, "_test.go") {
				continue
			}
			for _, m := range code.FindAllStringSubmatch(readFile(t, path), -1) {
				found[m[1]] = true
			}
		}
		if len(found) < n+3 {
			t.Fatalf("hardly a code in %s; where have they gone?", glob)
		}
	}
	return found
}

// Constant is the pattern of a code that a constant names.
const Constant = `(?m)^\s*Code[A-Z]\w* +(?:Code +)?= +"(\w+)"`

func readFile(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
