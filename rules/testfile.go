package rules

import (
	"strings"

	"tallyman/rules/strictyaml"
)

// TestFileName tells whether a file of that name is a rule test, whatever it holds: stock_test.yaml.
func TestFileName(path string) bool {
	for _, end := range []string{"_test.yaml", "_test.yml"} {
		if strings.HasSuffix(path, end) {
			return true
		}
	}
	return false
}

// IsTest tells whether the file is a rule test: it has tests.
func IsTest(root *strictyaml.Node) bool { return root.Get("tests") != nil }

// Files returns the YAML files at or below the path: itself, or those of the folder and of the folders below it, less those whose name begins
// with a dot. Rule tests are among them.
func Files(path string) ([]string, error) { return list(path) }
