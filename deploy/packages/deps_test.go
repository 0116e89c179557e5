//go:build linux

package packages

import (
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
)

// TestDepsHaveDebianPackages: on a new machine scripts/test-deps.sh installs each tool that the script can look for.
func TestDepsHaveDebianPackages(t *testing.T) {
	t.Parallel()
	script, err := os.ReadFile("../../scripts/test-deps.sh")
	if err != nil {
		t.Fatal(err)
	}
	function := func(name string) string {
		_, rest, _ := strings.Cut(string(script), name+"() {\n")
		body, _, ok := strings.Cut(rest, "\n}\n")
		if !ok {
			t.Fatalf("test-deps.sh has no function %s", name)
		}
		return name + "() {\n" + body + "\n}\n"
	}
	tools := 0
	for _, line := range regexp.MustCompile(`(?m)^    ([a-z0-9| -]+)\) `).FindAllStringSubmatch(function("has"), -1) {
		for tool := range strings.SplitSeq(line[1], " | ") {
			tools++
			if got := run(t, exec.Command("bash", "-c", function("debian_package")+"debian_package "+tool)); strings.TrimSpace(got) == "" {
				t.Errorf("test-deps.sh has no Debian package for %s", tool)
			}
		}
	}
	if tools < 15 {
		t.Errorf("only %d tools were found in test-deps.sh", tools)
	}
}
