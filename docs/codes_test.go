// Package docs holds the pages for readers; its tests hold them against the program.
package docs

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// The tables of error-codes.md list what the configuration and failed runs can say, no more and no less. Rule files
// are held by the tests of rules, the API's codes by those of internal/api.
func TestErrorCodesAreComplete(t *testing.T) {
	t.Parallel()
	constant := `(?m)^\s*Code[A-Z]\w* +(?:Code +)?= +"(\w+)"`
	for section, sources := range map[string]map[string]string{
		"## Failed runs": {"../scanners/*.go": constant, "../engine/*.go": `runError\{"(\w+)"`},
	} {
		known := map[string]bool{}
		for pattern, code := range sources {
			if collect(t, pattern, regexp.MustCompile(code), known) < 3 {
				t.Errorf("%s: hardly a code in %s; where have they gone?", section, pattern)
			}
		}
		documented := firstColumn(t, "error-codes.md", section)
		for code := range known {
			if !slices.Contains(documented, code) {
				t.Errorf("%s does not list %s", section, code)
			}
		}
		for _, code := range documented {
			if !known[code] {
				t.Errorf("%s lists %s, which no code says", section, code)
			}
		}
	}
}

// collect adds what the pattern finds in the files, tests left out, and returns how many there were.
func collect(t *testing.T, files string, pattern *regexp.Regexp, into map[string]bool) int {
	t.Helper()
	paths, err := filepath.Glob(files)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		for _, m := range pattern.FindAllStringSubmatch(read(t, path), -1) {
			into[m[1]] = true
			n++
		}
	}
	return n
}

// firstColumn returns the codes of the table below the heading.
func firstColumn(t *testing.T, page, heading string) []string {
	t.Helper()
	_, section, ok := strings.Cut(read(t, page), "\n"+heading+"\n")
	if !ok {
		t.Fatalf("%s has no %q", page, heading)
	}
	section, _, _ = strings.Cut(section, "\n## ")
	var codes []string
	for _, m := range regexp.MustCompile("(?m)^\\| `(\\w+)` \\|").FindAllStringSubmatch(section, -1) {
		codes = append(codes, m[1])
	}
	return codes
}

func read(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
