package ruletest

import (
	"time"

	"tallyman/rules/problem"
)

// Report is what became of the tests.
type Report struct {
	Files     int          `json:"files"`
	Tests     int          `json:"tests"` // that were run
	Failed    int          `json:"failed"`
	Steps     int          `json:"steps"`
	Results   []Result     `json:"results"`
	Problems  problem.List `json:"problems"`  // of test files, and of the rule files that they name
	Unchecked []string     `json:"unchecked"` // test files without a type catalogue: notices' types were not checked
	Cover     *Cover       `json:"cover,omitempty"`
}

// Passed tells whether all tests were run and none failed.
func (r *Report) Passed() bool { return r.Failed == 0 && len(r.Problems) == 0 && r.Tests > 0 }

// Result is one test.
type Result struct {
	File     string    `json:"file"`
	Line     int       `json:"line"`
	Name     string    `json:"name"`
	Rule     string    `json:"rule"`
	Scope    string    `json:"scope"`
	Steps    int       `json:"steps"`
	Failures []Failure `json:"failures"`
}

// Failure is a step that did not come out as expected, or, without Step, a test that could not be run.
type Failure struct {
	File     string       `json:"file"`
	Line     int          `json:"line"`
	Col      int          `json:"col"`
	Step     string       `json:"step,omitempty"` // its at
	Due      *time.Time   `json:"due,omitempty"`
	Message  string       `json:"message"`            // in one line
	Diff     []string     `json:"diff"`               // lines that begin with "- " (expected), "+ " (got) or "  "
	Problems problem.List `json:"problems,omitempty"` // why the rule does not run
}
