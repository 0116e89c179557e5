package ruletest

import (
	"path/filepath"
	"slices"

	"tallyman/rules"
	"tallyman/rules/problem"
	"tallyman/rules/strictyaml"
)

// Load reads the test files: each path is a file, or a folder in which the tests are taken (see rules.IsTest), in
// folders below it too. It returns all that is wrong with them.
func Load(paths []string) ([]*File, problem.List) {
	var files []*File
	var problems problem.List
	unreadable := func(path string, err error) {
		problems = append(problems, problem.Problem{Code: rules.CodeUnreadable, File: path, Message: err.Error()})
	}
	seen := map[string]bool{}
	for _, path := range paths {
		found, err := rules.Files(path)
		if err != nil {
			unreadable(path, err)
			continue
		}
		slices.Sort(found)
		for _, name := range found {
			src, err := rules.Read(name, name == filepath.Clean(path))
			if err != nil {
				unreadable(name, err)
				continue
			}
			test := isTest(name, src)
			if !test && name == filepath.Clean(path) {
				problems = append(problems, problem.Problem{
					Code: CodeNone, File: name, Message: "the file is no rule test: it has no tests", Hint: "name the file that tests it, or its folder",
				})
			}
			if !test || seen[name] {
				continue
			}
			seen[name] = true
			f, faults := Parse(name, src)
			problems = append(problems, faults...)
			if f != nil {
				files = append(files, f)
			}
		}
	}
	return files, tidy(problems)
}

// isTest tells whether the file is to be read as a test. One that is no YAML may be meant as one, and so may one that has no tests but
// names rule files: a test that is not run because of a typing error must be told.
func isTest(name string, src []byte) bool {
	if rules.TestFileName(name) {
		return true
	}
	parsed, _ := strictyaml.Parse(name, src) // what is wrong with it is told when it is read
	if parsed == nil || rules.IsTest(parsed.Root) {
		return true
	}
	about := parsed.Root.Get("rules")
	if about == nil || parsed.Root.Get("version") != nil {
		return false
	}
	return about.Kind == strictyaml.Scalar && !about.IsNull() ||
		about.Kind == strictyaml.Sequence && len(about.Items) > 0 && about.Items[0].Kind == strictyaml.Scalar
}

// tidy drops repetitions: what stands behind an anchor is met at each alias.
func tidy(l problem.List) problem.List {
	seen := map[problem.Problem]bool{}
	return slices.DeleteFunc(l, func(p problem.Problem) bool {
		again := seen[p]
		seen[p] = true
		return again
	})
}

// RuleFiles returns the rule files in those of the paths that are folders: what their tests should cover. Other YAML files that lie there are
// left out.
func RuleFiles(paths []string) []string {
	var files []string
	for _, path := range paths {
		found, err := rules.Files(path)
		if err != nil {
			continue // Load tells it
		}
		for _, name := range found {
			if name == filepath.Clean(path) || rules.TestFileName(name) {
				continue
			}
			src, err := rules.Read(name, false)
			if err != nil {
				continue
			}
			f, _ := strictyaml.Parse(name, src)
			if f == nil || isTest(name, src) {
				continue
			}
			if list := f.Root.Get("rules"); list != nil && list.Kind == strictyaml.Sequence && f.Root.Get("version") != nil {
				files = append(files, name)
			}
		}
	}
	slices.Sort(files)
	return slices.Compact(files)
}
