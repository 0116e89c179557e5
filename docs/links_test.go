package docs

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// A link of a page leads somewhere: to a file that is there, and to a heading that it has.
func TestLinksLeadSomewhere(t *testing.T) {
	t.Parallel()
	link := regexp.MustCompile(`\]\(([^)\s]+)\)`)
	n := 0
	for _, page := range pages(t) {
		for _, m := range link.FindAllStringSubmatch(read(t, page), -1) {
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
			} else if heading != "" && !strings.Contains(anchors(read(t, target)), "#"+heading+"\n") {
				t.Errorf("%s links to %s, a heading that is not there", page, m[1])
			}
		}
	}
	if n < 15 {
		t.Errorf("only %d links were found", n)
	}
}

// Every page can be reached from README.md, and every decision from its index.
func TestEveryPageIsLinked(t *testing.T) {
	t.Parallel()
	for index, glob := range map[string]string{"../README.md": "../docs/*.md", "adr/README.md": "adr/*.md"} {
		found, err := filepath.Glob(glob)
		if err != nil {
			t.Fatal(err)
		}
		for _, page := range found {
			rel, err := filepath.Rel(filepath.Dir(index), page)
			if err != nil {
				t.Fatal(err)
			}
			if filepath.Clean(page) != filepath.Clean(index) && !strings.Contains(read(t, index), "("+rel+")") {
				t.Errorf("%s does not link to %s", index, rel)
			}
		}
	}
}

// pages are all that are written for people.
func pages(t *testing.T) []string {
	t.Helper()
	all := []string{"../README.md", "../CHANGELOG.md", "../SECURITY.md"}
	for _, glob := range []string{"*.md", "adr/*.md", "../examples/*/README.md", "../examples/*/*/README.md", "../bench/README.md"} {
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
		name := regexp.MustCompile(`[^\w\- ]`).ReplaceAllString(strings.ToLower(m[1]), "")
		b.WriteString("#" + strings.ReplaceAll(name, " ", "-") + "\n")
	}
	return b.String()
}
