package docs

import (
	"encoding/json"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"tallyman/docs/codetest"
)

// widest is how long a line of prose may be. Tables, headings, blocks, and lines with a link or code, which may not be broken, may be longer.
const widest = 120

func TestLinesFit(t *testing.T) {
	t.Parallel()
	decisions, err := filepath.Glob("adr/*.md")
	if err != nil || len(decisions) < 50 {
		t.Fatalf("%d decisions, %v", len(decisions), err)
	}
	others := append(decisions, filepath.Join("reference", "error-codes.md"), "../CHANGELOG.md", "../CONTRIBUTING.md", "../SECURITY.md")
	for _, page := range append(guides(t)[1:], others...) {
		inside := map[int]bool{}
		for _, b := range blocksOf(t, page) {
			for i := range strings.Split(b.text, "\n") {
				inside[b.line+i] = true
			}
		}
		for i, line := range strings.Split(codetest.ReadFile(t, page), "\n") {
			isProse := !inside[i+1] && !strings.HasPrefix(line, "    ") && !regexp.MustCompile("^ *[|#<]|\\]\\(|`").MatchString(line)
			if n := utf8.RuneCountInString(line); n > widest && isProse {
				t.Errorf("%s:%d has %d characters, at most %d", page, i+1, n, widest)
			}
		}
	}
	if n := len(codetest.ReadFile(t, "../CHANGELOG.md")); n > 12<<10 {
		t.Errorf("CHANGELOG.md has %d bytes; write shorter lines for users", n)
	}
}

// TestRunbooks holds the form of the runbooks, less their index: the same headings in the same order, at most a screen, with commands to look.
func TestRunbooks(t *testing.T) {
	t.Parallel()
	pages, err := filepath.Glob("runbooks/*.md")
	if err != nil || len(pages) < 12 {
		t.Fatalf("%d runbooks, %v", len(pages), err)
	}
	heading := regexp.MustCompile(`(?m)^## (.+)$`)
	for _, page := range pages {
		if page == symptomPages[0] {
			continue
		}
		text := codetest.ReadFile(t, page)
		var got []string
		for _, m := range heading.FindAllStringSubmatch(text, -1) {
			got = append(got, m[1])
		}
		if want := []string{"You see", "What it means", "Look", "Do", "Afterwards"}; !slices.Equal(got, want) {
			t.Errorf("%s has the headings %q, not %q", page, got, want)
		}
		if n := strings.Count(text, "\n"); n > 85 {
			t.Errorf("%s has %d lines: more than a screen", page, n)
		}
		_, look, _ := strings.Cut(text, "## Look\n")
		if look, _, _ = strings.Cut(look, "\n## "); !strings.Contains(look, "```sh\n") {
			t.Errorf("%s shows no command to look with", page)
		}
	}
}

// TestAlertsHaveRunbooks: each alert names a runbook that names the alert.
func TestAlertsHaveRunbooks(t *testing.T) {
	t.Parallel()
	var file struct {
		Groups []struct {
			Rules []struct {
				Alert       string
				Annotations map[string]string
			}
		}
	}
	if err := yaml.Unmarshal([]byte(codetest.ReadFile(t, "../deploy/alerts/tallyman.yaml")), &file); err != nil {
		t.Fatal(err)
	}
	named := map[string]bool{}
	for _, g := range file.Groups {
		for _, a := range g.Rules {
			named[a.Alert] = true
			page, ok := strings.CutPrefix(a.Annotations["runbook"], "docs/")
			if !ok || !strings.Contains(codetest.ReadFile(t, page), "`"+a.Alert+"`") {
				t.Errorf("%s: its runbook is %q; name a page that names the alert", a.Alert, a.Annotations["runbook"])
			}
			if link := a.Annotations["runbook_url"]; link != "https://tallyman.example.com/docs/"+page {
				t.Errorf("%s: its runbook_url %q is not the link to its runbook", a.Alert, link)
			}
		}
	}
	for _, page := range guides(t) {
		for _, m := range regexp.MustCompile("`(Tallyman[A-Z][A-Za-z]+)`").FindAllStringSubmatch(codetest.ReadFile(t, page), -1) {
			if !named[m[1]] {
				t.Errorf("%s names the alert %s, which is not there", page, m[1])
			}
		}
	}
}

// TestJSON: each JSON block is JSON, or members of an object.
func TestJSON(t *testing.T) {
	t.Parallel()
	n := 0
	for _, page := range guides(t) {
		for _, b := range blocksOf(t, page) {
			if b.language != "json" {
				continue
			}
			n++
			if !json.Valid([]byte(b.text)) && !json.Valid([]byte("{"+b.text+"}")) {
				t.Errorf("%s:%d is no JSON", b.page, b.line)
			}
		}
	}
	if n < 5 {
		t.Errorf("only %d blocks were found", n)
	}
}
