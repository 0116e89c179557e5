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
	e, outcome := list[0].example()
	if want := []Block{{"yaml", "flag here", "a: 1\n"}}; !slices.Equal(e.Blocks, want) || outcome != "old\n" {
		t.Errorf("got %v and %q", e.Blocks, outcome)
	}
	if e, outcome = list[1].example(); e.Block("sql", "") != "SELECT 1\n" || e.Block("yaml", "flag") != "" || outcome != "" {
		t.Errorf("got %v and %q", e.Blocks, outcome)
	}
	if got, want := list[0].with("new\n"), "Words.\n```yaml flag here\na: 1\n```\n```text\nnew\n```\nMore.\n\n"; got != want {
		t.Errorf("replaced: %q", got)
	}
	if got, want := list[1].with("new\n"), "```sql\nSELECT 1\n```\n```yaml\nb: 2\n```\n```text\nnew\n```\n\n"; got != want {
		t.Errorf("added: %q", got)
	}
}
