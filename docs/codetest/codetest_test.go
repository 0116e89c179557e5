package codetest

import (
	"slices"
	"testing"
)

const page = `# Codes
## One: a
### first
Words.
` + "```yaml flag here\na: 1\n```\n```text\nold\n```\nMore.\n" + `
## One: b
### second
` + "```sql\nSELECT 1\n```\n```yaml\nb: 2\n```\n" + `
## Two
### third
`

func TestSections(t *testing.T) {
	t.Parallel()
	list := sectionsOf(page, "One")
	if len(list) != 2 || list[0].code != "first" || list[1].code != "second" {
		t.Fatalf("got %d sections", len(list))
	}
	for _, s := range list {
		if page[s.start:s.end] != s.text {
			t.Errorf("%s lies elsewhere", s.code)
		}
	}
	e := list[0].examples()[0]
	if want := []Block{{"yaml", "flag here", "a: 1\n"}}; !slices.Equal(e.Blocks, want) || e.outcome != "old\n" {
		t.Errorf("got %v and %q", e.Blocks, e.outcome)
	}
	if e = list[1].examples()[0]; e.Block("sql", "") != "SELECT 1\n" || e.Block("yaml", "flag") != "" || e.outcome != "" {
		t.Errorf("got %v and %q", e.Blocks, e.outcome)
	}
	if got, want := list[0].with([]string{"new\n"}), "Words.\n```yaml flag here\na: 1\n```\n```text\nnew\n```\nMore.\n\n"; got != want {
		t.Errorf("replaced: %q", got)
	}
	if got, want := list[1].with([]string{"new\n"}), "```sql\nSELECT 1\n```\n```yaml\nb: 2\n```\n```text\nnew\n```\n\n"; got != want {
		t.Errorf("added: %q", got)
	}
}

// TestSeveralExamples holds a section with an example that has its outcome, and one that has none yet.
func TestSeveralExamples(t *testing.T) {
	t.Parallel()
	s := sectionsOf("## One\n### first\n```yaml\na: 1\n```\n```text\nold\n```\nWords.\n```yaml\nb: 2\n```\nEnd.\n", "One")[0]
	list := s.examples()
	if len(list) != 2 || list[0].outcome != "old\n" || list[1].outcome != "" || list[1].Block("yaml", "") != "b: 2\n" {
		t.Fatalf("got %+v", list)
	}
	got := s.with([]string{"one\n", "two\n"})
	if want := "```yaml\na: 1\n```\n```text\none\n```\nWords.\n```yaml\nb: 2\n```\n```text\ntwo\n```\nEnd.\n"; got != want {
		t.Errorf("got %q", got)
	}
}
