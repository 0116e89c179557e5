package rules

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"tallyman/rules/problem"
	"tallyman/rules/strictyaml"
)

// Set is the result of Load.
type Set struct {
	Rules    []*Rule      // The sound rules, sorted by id and scope.
	Problems problem.List // The problems of all files, sorted by file and place.
	Files    []File       // Sorted by path.

	written map[string]origin // The first place of each id, without its tree. Bad rules count too.
	broken  []brokenFile
}

// File is one rule file.
type File struct {
	Path     string
	Rules    int // The entries of its list, with the bad rules.
	Problems int
}

// Complete tells whether Rules has every rule of the files. If it is false, a missing rule may still be in a file that
// has a problem. The caller must then keep its findings, and not treat the rule as removed.
func (s *Set) Complete() bool { return len(s.Problems) == 0 }

// Find returns the rule in the scope, or nil.
func (s *Set) Find(id, scope string) *Rule {
	for _, r := range s.Rules {
		if r.ID == id && r.Scope == scope {
			return r
		}
	}
	return nil
}

// Sort orders rules by id and scope.
func Sort(list []*Rule) {
	slices.SortStableFunc(list, func(a, b *Rule) int {
		return strings.Compare(a.ID+"\x00"+a.Scope, b.ID+"\x00"+b.Scope)
	})
}

// drop removes the rules that the problems name, in all their scopes, and adds the problems.
func (s *Set) drop(found problem.List) {
	bad := map[string]bool{}
	for _, p := range found {
		bad[p.File+"\x00"+p.Rule] = true
	}
	s.Rules = slices.DeleteFunc(s.Rules, func(r *Rule) bool { return bad[r.File+"\x00"+r.ID] })
	s.Problems = Tidy(append(s.Problems, found...))
	for i := range s.Files {
		s.Files[i].Problems = 0
		for _, p := range s.Problems {
			if p.File == s.Files[i].Path {
				s.Files[i].Problems++
			}
		}
	}
}

// Tidy sorts problems by place and drops repetitions. A fault in the defaults is found once for each rule, and a fault
// in a rule once for each scope.
func Tidy(l problem.List) problem.List {
	type place struct {
		file, code, message string
		line, col           int
	}
	seen := map[place]bool{}
	var out problem.List
	for _, p := range l {
		at := place{p.File, p.Code, p.Message, p.Line, p.Col}
		if !seen[at] {
			seen[at] = true
			out = append(out, p)
		}
	}
	slices.SortStableFunc(out, func(a, b problem.Problem) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Col, b.Col))
	})
	return out
}

// maxRules is the most rules that one Load makes, each scope counted.
const maxRules = 100_000

// Load reads rule files. Each path is a file or a folder. From a folder and the folders below it, Load takes *.yaml and
// *.yml. It leaves out names that begin with a dot, and rule tests (see IsTest). Load never fails as a whole: it
// reports a bad file, or a bad rule in a good file, and leaves it out.
func Load(paths []string) *Set {
	l := newLoader(maxRules)
	var files []string
	named := map[string]bool{} // the files that paths names itself, not through a folder
	for _, p := range paths {
		found, err := list(p)
		if err != nil {
			l.unreadable(p, err)
		}
		if len(found) == 1 && found[0] == filepath.Clean(p) {
			named[found[0]] = true
		}
		files = append(files, found...)
	}
	slices.Sort(files)
	for _, path := range slices.Compact(files) {
		if TestFileName(path) && !named[path] {
			continue
		}
		src, err := Read(path, named[path])
		if err != nil {
			l.unreadable(path, err)
			continue
		}
		l.file(path, src, named[path])
	}
	return l.finish()
}

// LoadFile is Load for one rule file in memory. path is for messages.
func LoadFile(path string, src []byte) *Set {
	l := newLoader(maxRules)
	l.file(path, src, true)
	return l.finish()
}

// list returns the rule files at or below the path.
func list(path string) ([]string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return []string{filepath.Clean(path)}, nil
	}
	var files []string
	// DirFS also walks a folder that is a symbolic link.
	err = fs.WalkDir(os.DirFS(path), ".", func(p string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case p != "." && strings.HasPrefix(e.Name(), "."):
			if e.IsDir() {
				return fs.SkipDir
			}
		case !e.IsDir() && (filepath.Ext(p) == ".yaml" || filepath.Ext(p) == ".yml"):
			files = append(files, filepath.Join(path, filepath.FromSlash(p)))
		}
		return nil
	})
	return files, err
}

// loader builds a Set.
type loader struct {
	set  *Set
	ids  map[string]problem.Problem // The first place of each id.
	most int                        // The most rules, each scope counted.
}

func newLoader(most int) *loader {
	return &loader{set: &Set{written: map[string]origin{}}, ids: map[string]problem.Problem{}, most: most}
}

func (l *loader) unreadable(path string, err error) {
	l.set.Problems = append(l.set.Problems, problem.Problem{Code: CodeUnreadable, File: path, Message: err.Error()})
}

func (l *loader) finish() *Set {
	Sort(l.set.Rules)
	l.set.drop(nil)
	return l.set
}

// file reads one file. A problem of the file as a whole removes all its rules; file then reports the problems of the
// rules as well. file ignores a rule test, unless the caller has named it as a rule file.
func (l *loader) file(path string, src []byte, named bool) {
	f, problems := strictyaml.Parse(path, src)
	test := f != nil && IsTest(f.Root)
	if test && !named {
		return
	}
	info := File{Path: path}
	defer func() { l.set.Files = append(l.set.Files, info) }()
	if test {
		problems = problem.List{f.Problem(nil, CodeRuleTest, "this is a rule test, not a rule file", "run it with tallyman rules test "+path)}
	}
	if f == nil {
		l.set.broken = append(l.set.broken, brokenFile{path, string(src)})
	}
	if f == nil || test {
		l.set.Problems = append(l.set.Problems, problems...)
		return
	}
	var spec fileSpec
	problems = f.Decode(f.Root, &spec)
	info.Rules = len(spec.Rules)

	fr := &fileReader{file: f, params: newParamUse()}
	fr.readDefaults(spec.Defaults)
	var sound []*Rule
	for i, n := range spec.Rules {
		made, found := fr.rule(n, i)
		found = append(found, l.claimID(f, n, i)...)
		if len(l.set.Rules)+len(sound)+len(made) > l.most {
			found = append(found, f.Problem(n, CodeTooMany, fmt.Sprintf("with this rule there are more than %d rules, each scope counted", l.most), ""))
		}
		fr.problems = append(fr.problems, found...)
		if len(found) == 0 {
			sound = append(sound, made...)
		}
	}
	unused := fr.params.unused(f)
	bad := map[string]bool{}
	for _, p := range unused {
		bad[p.Rule] = true
	}
	problems = append(append(problems, fr.problems...), unused...)
	if len(problems) == 0 || !fileWide(problems) {
		l.set.Rules = append(l.set.Rules, slices.DeleteFunc(sound, func(r *Rule) bool { return bad[r.ID] })...)
	}
	l.set.Problems = append(l.set.Problems, problems...)
}

// fileWide tells whether at least one problem belongs to no single rule, but to the file as a whole or its defaults.
func fileWide(l problem.List) bool {
	return slices.ContainsFunc(l, func(p problem.Problem) bool { return p.Rule == "" })
}

// claimID records the id of an entry, and reports an id that another rule already has.
func (l *loader) claimID(f *strictyaml.File, n *strictyaml.Node, item int) problem.List {
	id := n.Get("id")
	if id == nil || id.Kind != strictyaml.Scalar {
		return nil
	}
	here := f.Problem(id, CodeDuplicateID, fmt.Sprintf("the id %q is taken", id.Text), "")
	here.Rule = id.Text
	first, taken := l.ids[id.Text]
	if !taken {
		l.ids[id.Text] = here
		l.set.written[id.Text] = origin{file: f, item: item}
		return nil
	}
	here.Hint = fmt.Sprintf("it is used in %s:%d; ids are unique over all files", first.File, first.Line)
	return problem.List{here}
}

var errNoFile = errors.New("this is not a regular file")

// Read returns the content of a rule file or a rule test. named tells that the user has named the file itself. Read
// then also reads a pipe, since its writer is at work. A pipe that lies in a folder is an error: it may never get a
// writer, and reading it would block for ever.
func Read(path string, named bool) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if info.Mode().IsRegular() {
		return os.ReadFile(path)
	}
	if !named {
		return nil, errNoFile
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	return io.ReadAll(io.LimitReader(f, strictyaml.MaxSize+1)) // the extra byte lets Parse refuse a file that is too large
}

// TestFileName tells whether the name alone marks a file as a rule test, such as stock_test.yaml.
func TestFileName(path string) bool {
	for _, end := range []string{"_test.yaml", "_test.yml"} {
		if strings.HasSuffix(path, end) {
			return true
		}
	}
	return false
}

// IsTest tells whether the file is a rule test, which has the field tests.
func IsTest(root *strictyaml.Node) bool { return root.Get("tests") != nil }

// Files returns the YAML files at the path: the file itself, or the files in the folder and in the folders below it.
// Names that begin with a dot are left out. Rule tests are among the files.
func Files(path string) ([]string, error) { return list(path) }
