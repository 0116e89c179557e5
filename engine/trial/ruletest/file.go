package ruletest

import (
	"path/filepath"
	"time"

	"tallyman/rules/problem"
	"tallyman/rules/row"
	"tallyman/rules/strictyaml"
)

// File is one file of rule tests.
type File struct {
	Path  string
	Rules []string // the rule files and folders that it is about
	Types string   // the type catalogue; "" where it names none
	Tests []*Test  // sound ones

	yaml  *strictyaml.File
	about *strictyaml.Node // where Rules stand
}

// Test takes one rule in one scope through time.
type Test struct {
	Name, Rule, Scope string
	Start             time.Time
	Exact             bool                // notices are compared as wholes
	Columns           map[string]row.Kind // said by the author, by column or table.column
	Steps             []*Step

	file *File
	node *strictyaml.Node
}

// Step is one run: what the probe comes to, and what must come of it.
type Step struct {
	At     time.Duration // after the start; the run is due then
	Rows   []cells       // what the probe returns
	Tables []tableRows   // what its statement reads; nil = Rows or Fault
	Fault  string        // why the scan fails; "" = it does not
	Expect *Expect       // nil where the step only prepares others

	node *strictyaml.Node
}

// Expect is what a step says about its run. What is nil is not looked at.
type Expect struct {
	Pending, Firing, Rows, Matched, Errored *int
	Health                                  string // "" = anything but a failure or degradation
	Notices                                 []noticeExpect
	CountNotices                            bool // Notices are looked at

	node *strictyaml.Node
}

// noticeExpect is one element of notices: the fields that are written.
type noticeExpect struct{ node *strictyaml.Node }

// cells are the values of one row of a step.
type cells struct {
	node   *strictyaml.Node
	values map[string]cell
}

// tableRows is a fixture.
type tableRows struct {
	name string
	rows []cells
}

// Parse reads a test file that is in memory; path is for messages, and what the file names is looked for beside it. Tests with a problem are
// left out; the File is nil where none can be read.
func Parse(path string, src []byte) (*File, problem.List) {
	parsed, problems := strictyaml.Parse(path, src)
	if parsed == nil {
		return nil, problems
	}
	var spec fileSpec
	problems = parsed.Decode(parsed.Root, &spec)
	f := &File{Path: path, yaml: parsed, about: parsed.Root.Get("rules")}
	for _, name := range spec.Rules {
		f.Rules = append(f.Rules, beside(path, name))
	}
	if spec.Types != "" {
		f.Types = beside(path, spec.Types)
	}
	if len(spec.Tests) == 0 && len(problems) == 0 {
		problems = append(problems, parsed.Problem(parsed.Root.Field("tests").Key, CodeNone, "the file has no tests", ""))
	}
	names := map[string]*strictyaml.Node{}
	for _, n := range spec.Tests {
		r := reader{file: parsed}
		t := r.test(n)
		r.unique(t.Name, n, names)
		problems = append(problems, r.problems...)
		if len(r.problems) == 0 {
			t.file = f
			f.Tests = append(f.Tests, t)
		}
	}
	return f, problems
}

// beside is a path that a file names, as seen from where the program runs.
func beside(file, path string) string {
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(filepath.Dir(file), filepath.FromSlash(path))
}
