// Package codetest holds docs/reference/error-codes.md against the program: each code that the program says has a section, each section an
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
// A section may have several examples, each with its outcome.
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
	text := ReadFile(t, p.Page)
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

// checked compares the outcomes of the section's examples with what stands below them, and returns the section as it should be.
func (p Part) checked(t *testing.T, s *section) string {
	t.Helper()
	if slices.Contains(p.Elsewhere, s.code) {
		return s.text
	}
	examples := s.examples()
	if len(examples) == 0 {
		t.Errorf("the section %s of %s has no example: add one, as\n%s", s.code, p.Page, p.Sketch)
		return s.text
	}
	var outcomes []string
	for _, e := range examples {
		got := p.Run(t, e)
		if !strings.Contains(got, s.code+": ") {
			t.Errorf("the example of %s gives something else:\n%s", s.code, got)
		}
		if got != e.outcome && !p.Update {
			t.Errorf("below the example of %s must stand (`%s -update` writes it):\n```text\n%s```", s.code, p.Command, got)
		}
		outcomes = append(outcomes, got)
	}
	return s.with(outcomes)
}

// Outcome holds the outcome of a code that no rule or file brings about against what the program says.
func Outcome(t *testing.T, page, headings, code, got string) {
	t.Helper()
	for _, s := range sectionsOf(ReadFile(t, page), headings) {
		if s.code != code {
			continue
		}
		if examples := s.examples(); len(examples) == 0 || examples[0].outcome != got {
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
			for _, m := range code.FindAllStringSubmatch(ReadFile(t, path), -1) {
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

// ReadFile returns the text of a file.
func ReadFile(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// section is what the page says of one code; it ends before the next heading.
type section struct {
	code, text string
	start, end int // of the text in the page
}

var heading = regexp.MustCompile(`(?m)^(##|###) (.+)\n`)

// sectionsOf are those below the headings of the part.
func sectionsOf(page, headings string) []*section {
	var list []*section
	within := false
	for _, m := range heading.FindAllStringSubmatchIndex(page, -1) {
		if n := len(list); n > 0 && list[n-1].text == "" {
			list[n-1].close(page, m[0])
		}
		name := page[m[4]:m[5]]
		if page[m[2]:m[3]] == "##" {
			within = strings.HasPrefix(name, headings)
		} else if within {
			list = append(list, &section{code: name, start: m[1]})
		}
	}
	if n := len(list); n > 0 && list[n-1].text == "" {
		list[n-1].close(page, len(page))
	}
	return list
}

func (s *section) close(page string, end int) { s.text, s.end = page[s.start:end], end }

var block = regexp.MustCompile("(?ms)^```(\\w+) *([^\n]*)\n(.*?)^```\n")

// Example is what the blocks of a section make.
type Example struct {
	Code   string // that it is for
	Blocks []Block

	outcome string // that stands below the blocks
}

// Block is one block of an example.
type Block struct{ Language, Flags, Text string }

// Block is the text of the block of the language with these flags, empty where there is none.
func (e *Example) Block(language, flags string) string {
	for _, b := range e.Blocks {
		if b.Language == language && b.Flags == flags {
			return b.Text
		}
	}
	return ""
}

// examples takes the blocks apart: a text block ends an example with its outcome.
func (s *section) examples() []*Example {
	var list []*Example
	next := &Example{Code: s.code}
	for _, m := range block.FindAllStringSubmatch(s.text, -1) {
		if m[1] != "text" {
			next.Blocks = append(next.Blocks, Block{Language: m[1], Flags: m[2], Text: m[3]})
			continue
		}
		next.outcome = m[3]
		list = append(list, next)
		next = &Example{Code: s.code}
	}
	if len(next.Blocks) > 0 {
		list = append(list, next)
	}
	return list
}

// with is the section with an outcome below each of its examples.
func (s *section) with(outcomes []string) string {
	var b strings.Builder
	written := 0
	last := 0
	for _, m := range block.FindAllStringSubmatchIndex(s.text, -1) {
		if last = m[1]; s.text[m[2]:m[3]] == "text" {
			b.WriteString(s.text[written:m[0]] + "```text\n" + outcomes[0] + "```\n")
			written, outcomes = m[1], outcomes[1:]
		}
	}
	if len(outcomes) > 0 { // the last example is new
		b.WriteString(s.text[written:last] + "```text\n" + outcomes[0] + "```\n")
		written = last
	}
	return b.String() + s.text[written:]
}

// Base is the text of the page's block with these flags, which its examples build on.
func Base(t *testing.T, page, flags string) string {
	t.Helper()
	for _, m := range block.FindAllStringSubmatch(ReadFile(t, page), -1) {
		if m[2] == flags {
			return m[3]
		}
	}
	t.Fatalf("%s has no block with the flags %q", page, flags)
	return ""
}
