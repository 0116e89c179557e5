package wire_test

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

func TestEveryCodeIsExplained(t *testing.T) {
	t.Parallel()
	source, err := os.ReadFile("problem.go")
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile("../../docs/reference/api.md")
	if err != nil {
		t.Fatal(err)
	}
	codes := regexp.MustCompile(`Code = "(\w+)"`).FindAllStringSubmatch(string(source), -1)
	if len(codes) < 20 {
		t.Fatalf("found %d codes only", len(codes))
	}
	for _, c := range codes {
		if !strings.Contains(string(page), "\n| `"+c[1]+"` |") {
			t.Errorf("docs/reference/api.md does not explain %s", c[1])
		}
	}
	if rows := strings.Count(string(page[strings.Index(string(page), "## Codes"):]), "\n| `"); rows != len(codes) {
		t.Errorf("docs/reference/api.md explains %d codes, there are %d", rows, len(codes))
	}
}
