package ruletest

import (
	"context"
	"errors"
	"fmt"
	"regexp"

	"tallyman/rules"
	"tallyman/rules/catalog"
	"tallyman/rules/problem"
	"tallyman/scanners"
)

// Options is what tests run with.
type Options struct {
	Types  catalog.Catalog          // for files that name none; nil = their rules' types are taken on trust
	Memory func() (Database, error) // an empty in-memory database for tables; asked at most once
	Source Database                 // the real engine instead; nil = none
	Engine string                   // the name of Source
	Run    *regexp.Regexp           // only tests whose name or rule it matches; nil = all
	Cover  bool                     // say what no test reaches
	Extra  []string                 // rule files and folders whose rules should be covered, beside those that test files name
}

// Database is a source that tests may stage tables in.
type Database interface {
	scanners.Source
	scanners.Sessions
}

// Run runs the tests of the files. An error is one of the surroundings: a test that fails, for whatever reason, is in the report.
func Run(ctx context.Context, files []*File, o Options) (*Report, error) {
	r := &runner{Options: o, report: &Report{Results: []Result{}, Problems: problem.List{}, Unchecked: []string{}}, sets: map[string]*rules.Set{}}
	if o.Cover {
		r.cover = newCoverage()
		for _, path := range o.Extra { // one by one: two rule packs may have a rule of the same id
			r.coverable(r.load([]string{path}))
		}
	}
	defer r.close()
	for _, f := range files {
		if err := r.file(ctx, f); err != nil {
			return nil, err
		}
	}
	r.report.Problems = tidy(r.report.Problems)
	if r.cover != nil {
		r.report.Cover = r.cover.sum()
	}
	return r.report, nil
}

type runner struct {
	Options
	report *Report
	sets   map[string]*rules.Set
	memory Database
	cover  *coverage
}

func (r *runner) close() {
	if r.memory != nil {
		_ = r.memory.Close() // it is gone with the process at the latest
	}
}

// load reads rule files once for all test files that name the same ones.
func (r *runner) load(paths []string) *rules.Set {
	key := fmt.Sprintf("%q", paths)
	if r.sets[key] == nil {
		r.sets[key] = rules.Load(paths)
		r.report.Problems = append(r.report.Problems, r.sets[key].Problems...)
	}
	return r.sets[key]
}

func (r *runner) coverable(set *rules.Set) {
	for _, rule := range set.Rules {
		r.cover.add(rule)
	}
}

// suite is a file with what it names.
type suite struct {
	*File
	set    *rules.Set
	types  catalog.Catalog // nil = on trust
	tables fixtures
	bad    map[*Test]bool // told in the report's problems
}

func (r *runner) file(ctx context.Context, f *File) error {
	r.report.Files++
	s := &suite{File: f, set: r.load(f.Rules), types: r.Types, bad: map[*Test]bool{}}
	if f.Types != "" {
		types, problems := catalog.Load(f.Types)
		s.types = types
		r.report.Problems = append(r.report.Problems, problems...)
	}
	if s.types == nil {
		r.report.Unchecked = append(r.report.Unchecked, f.Path)
	}
	if r.cover != nil {
		r.coverable(s.set)
	}
	r.check(s)
	for _, t := range f.Tests {
		if s.bad[t] || r.Run != nil && !r.Run.MatchString(t.Name) && !r.Run.MatchString(t.Rule) {
			continue
		}
		result := Result{File: f.Path, Line: t.node.Line, Name: t.Name, Rule: t.Rule, Scope: t.Scope, Failures: []Failure{}}
		if err := r.test(ctx, s, t, &result); err != nil {
			return err
		}
		r.report.Tests++
		r.report.Steps += result.Steps
		if len(result.Failures) > 0 {
			r.report.Failed++
		}
		r.report.Results = append(r.report.Results, result)
	}
	return nil
}

// database is what tables are staged in.
func (r *runner) database() (Database, error) {
	if r.Source != nil {
		return r.Source, nil
	}
	if r.memory == nil {
		if r.Memory == nil {
			return nil, errors.New("ruletest: no database for tables")
		}
		var err error
		if r.memory, err = r.Memory(); err != nil {
			return nil, err
		}
	}
	return r.memory, nil
}
