package ruletest

import (
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"tallyman/rules"
	"tallyman/rules/problem"
	"tallyman/rules/row"
	"tallyman/rules/strictyaml"
)

// File is one file of rule tests.
type File struct {
	Path  string
	Rules []string // The rule files and folders that the tests are about.
	Types string   // The type catalogue. Empty means the file names none.
	Tests []*Test  // The tests without problems.

	yaml  *strictyaml.File
	about *strictyaml.Node // The place of Rules.
}

// Test runs one rule in one scope through its steps.
type Test struct {
	Name, Rule, Scope string
	Timezone          string         // The timezone of a scope that a query lists. Empty means the rule's.
	Params            map[string]any // The parameters of a scope that a query lists.
	Start             time.Time
	Exact             bool                // Notices must have exactly the written fields.
	Columns           map[string]row.Kind // The kinds that the author gives, keyed by column or table.column.
	Steps             []*Step

	file *File
	node *strictyaml.Node
}

// Step is one run: what the source returns, and what the run must result in.
type Step struct {
	At     time.Duration // The time after the start at which the run is due.
	Rows   []cells       // The rows that the probe returns.
	Tables []tableRows   // The tables that the probe reads. Nil means the step has rows or a fault instead.
	Fault  string        // Why the scan fails. Empty means it does not fail.
	Expect *Expect       // Nil means the step expects nothing and only prepares later steps.

	node *strictyaml.Node
}

// Expect is what a step expects of its run. A nil field is not checked.
type Expect struct {
	Pending, Firing, Rows, Matched, Errored *int
	Health                                  string // Empty means the run must not fail or be degraded.
	Notices                                 []noticeExpect
	CountNotices                            bool // Notices is checked, even if it is empty.

	node *strictyaml.Node
}

// noticeExpect is an expected notice with the written fields.
type noticeExpect struct{ node *strictyaml.Node }

// cells are the values of one row of a step.
type cells struct {
	node   *strictyaml.Node
	values map[string]cell
}

// tableRows is a table of a step with its rows.
type tableRows struct {
	name string
	rows []cells
}

// Parse parses the text of a test file. Messages show path, and relative paths in the file are relative to its folder.
// Parse leaves out tests with a problem. The File is nil where the text cannot be parsed.
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

// beside resolves a path that is relative to the folder of a file.
func beside(file, path string) string {
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(filepath.Dir(file), filepath.FromSlash(path))
}

// The shapes of a test file.

type fileSpec struct {
	Rules pathList           `yaml:"rules,required"`
	Types string             `yaml:"types"`
	Tests []*strictyaml.Node `yaml:"tests,required"`
}

type testSpec struct {
	Name     string             `yaml:"name,required"`
	Rule     string             `yaml:"rule,required"`
	Scope    string             `yaml:"scope"`
	Timezone string             `yaml:"timezone"`
	Params   rules.Scalars      `yaml:"params"`
	Start    *strictyaml.Node   `yaml:"start,required"`
	Exact    bool               `yaml:"exact"`
	Columns  map[string]string  `yaml:"columns"`
	Steps    []*strictyaml.Node `yaml:"steps,required"`
}

type stepSpec struct {
	At     time.Duration                 `yaml:"at,required" max:"3650d"`
	Rows   []*strictyaml.Node            `yaml:"rows"`
	Tables map[string][]*strictyaml.Node `yaml:"tables"`
	Error  string                        `yaml:"error" text:"raw"`
	Expect *strictyaml.Node              `yaml:"expect"`
}

type expectSpec struct {
	Pending *int               `yaml:"pending"`
	Firing  *int               `yaml:"firing"`
	Rows    *int               `yaml:"rows"`
	Matched *int               `yaml:"matched"`
	Errored *int               `yaml:"errored"`
	Health  string             `yaml:"health" enum:"ok,degraded,error,no_data"`
	Notices []*strictyaml.Node `yaml:"notices"`
}

// noticeSpec has the fields of a notice's JSON, and its sinks. noticeSpec is decoded only to find faults; the written
// nodes are compared.
type noticeSpec struct {
	ID         string            `yaml:"id"`
	Type       string            `yaml:"type"`
	TypeID     int64             `yaml:"typeId"`
	Warehouse  string            `yaml:"warehouse"`
	Rule       string            `yaml:"rule"`
	Scope      string            `yaml:"scope"`
	Key        *strictyaml.Node  `yaml:"key"`
	Episode    *strictyaml.Node  `yaml:"episode"`
	Status     string            `yaml:"status" enum:"firing,resolved,event"`
	Priority   int               `yaml:"priority" min:"1" max:"5"`
	Modal      string            `yaml:"modal" enum:"silent,popup"`
	Title      string            `yaml:"title" text:"raw"`
	Body       string            `yaml:"body" text:"raw"`
	Data       plainMap          `yaml:"data" text:"raw"`
	Labels     map[string]string `yaml:"labels"`
	Count      int               `yaml:"count" min:"1"`
	CreatedAt  *strictyaml.Node  `yaml:"createdAt"`
	CreateTime int64             `yaml:"createTime"`
	ExpireTime int64             `yaml:"expireTime"`
	ExpiresAt  *strictyaml.Node  `yaml:"expiresAt"`
	Sinks      []string          `yaml:"sinks"`
	Deliver    deliverList       `yaml:"deliver"`
}

// pathList is one path, or a list of them.
type pathList []string

// DecodeYAML implements strictyaml.Decodable.
func (p *pathList) DecodeYAML(d *strictyaml.Decoder, name string, n *strictyaml.Node) {
	if n.Kind == strictyaml.Scalar {
		if s, ok := d.Text(name, n); ok {
			*p = pathList{s}
		}
		return
	}
	var list []string
	d.Value(name, n, &list)
	*p = list
	if n.Kind == strictyaml.Sequence && len(list) == 0 {
		d.Fail(n, strictyaml.CodeMissing, name+" names no rule file", "the path of a rule file or folder, beside this file")
	}
}

// plainMap is a map of single values.
type plainMap struct{}

// DecodeYAML implements strictyaml.Decodable.
func (*plainMap) DecodeYAML(d *strictyaml.Decoder, name string, n *strictyaml.Node) {
	nodes := map[string]*strictyaml.Node{}
	d.Value(name, n, &nodes)
	for key, value := range nodes {
		d.Any(fmt.Sprintf("%s.%s", name, key), value)
	}
}

// Load reads test files. Each path is a file or a folder. In a folder, and in the folders below it, Load reads the
// files that are tests (see isTest). Load returns the problems of all files.
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
					Code: CodeNone, File: name, Message: "the file is no rule test: it has no tests", Hint: "name a file of rule tests, or the folder of such a file",
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

// isTest tells whether the file must be read as a test. A file that is no YAML may be meant as a test, and so may a
// file that names rule files but has no tests. A test that does not run because of a typing error must be reported.
func isTest(name string, src []byte) bool {
	if rules.TestFileName(name) {
		return true
	}
	parsed, _ := strictyaml.Parse(name, src) // Parse reports the problems later.
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

// tidy removes repeated problems. A problem behind a YAML anchor is found again at each alias.
func tidy(l problem.List) problem.List {
	seen := map[problem.Problem]bool{}
	return slices.DeleteFunc(l, func(p problem.Problem) bool {
		again := seen[p]
		seen[p] = true
		return again
	})
}

// RuleFiles returns the rule files in the paths that are folders. Their rules should have tests. RuleFiles leaves out
// other YAML files.
func RuleFiles(paths []string) []string {
	var files []string
	for _, path := range paths {
		found, err := rules.Files(path)
		if err != nil {
			continue // Load reports the error.
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
