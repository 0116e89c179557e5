// Package docs holds the pages for readers; its tests hold them against the program.
package docs

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// Whoever says codes holds their part of error-codes.md by docs/codetest. A part that nobody holds would not be missed there: so each
// section has, whatever its part, an outcome that names its code.
func TestEveryErrorCodeHasAnExample(t *testing.T) {
	t.Parallel()
	held := regexp.MustCompile(`^(Rule files: .*|Rule tests|The configuration|The ledger|Failed runs)$`)
	outcome := regexp.MustCompile("(?ms)^```text\n(.*?)^```$")
	n := 0
	for _, part := range strings.Split(read(t, "error-codes.md"), "\n## ")[1:] {
		name, text, _ := strings.Cut(part, "\n")
		sections := strings.Split(text, "\n### ")[1:]
		if len(sections) > 0 && !held.MatchString(name) {
			t.Errorf("no test runs the examples below %q: hold them by codetest.Part where those codes are made, and name the part here", name)
		}
		for _, section := range sections {
			n++
			code, text, _ := strings.Cut(section, "\n")
			m := outcome.FindStringSubmatch(text)
			if m == nil || !strings.Contains(m[1], code+": ") {
				t.Errorf("%s has no outcome that names it: write an example below it, and let the test of its part add the outcome with -update", code)
			}
		}
	}
	if n < 100 {
		t.Errorf("only %d codes; where have they gone?", n)
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
