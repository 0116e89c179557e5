package ruletest_test

import (
	"os"
	"regexp"
	"testing"

	"tallyman/engine/trial/ruletest"
)

// TestTheReferenceRuns: the rule test of the reference passes as it stands there.
func TestTheReferenceRuns(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../../docs/reference/rule-file.md")
	if err != nil {
		t.Fatal(err)
	}
	blocks := regexp.MustCompile("(?ms)^```yaml test\n(.*?)^```$").FindAllSubmatch(page, -1)
	if len(blocks) != 1 {
		t.Fatalf("%d rule tests in the reference", len(blocks))
	}
	f, problems := ruletest.Parse("../../../docs/reference_test.yaml", blocks[0][1])
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	r, err := ruletest.Run(t.Context(), []*ruletest.File{f}, ruletest.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if passes(t, r); len(r.Unchecked) > 0 {
		t.Error("its types were not checked")
	}
}
