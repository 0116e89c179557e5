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

// Set is what Load made of the rule files.
type Set struct {
	Rules    []*Rule      // sound ones, by id and scope
	Problems problem.List // of all files, by file and place
	Files    []File       // by path

	written map[string]origin // where each id was met first, its tree left out; bad rules too
	broken  []brokenFile
}

// File is one rule file.
type File struct {
	Path     string
	Rules    int // entries of its list, bad ones included
	Problems int
}

// Complete tells whether every rule that was written is in Rules. Where it is false, a rule that is missing may
// just be broken: its findings must not be taken for those of a removed rule.
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

// Tidy orders problems by place and drops repetitions: what stands in the defaults is met once a rule, what
// stands in a rule once a scope.
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

// maxRules is how many rules, each scope counted, one Load makes.
const maxRules = 100_000

// Load reads the rule files: each path is a file, or a folder whose *.yaml and *.yml are taken, those in
// folders below it too, less those whose name begins with a dot and those that are rule tests (see IsTest).
// It never fails as a whole. A bad file, or a bad rule in a good file, is reported and left out.
func Load(paths []string) *Set {
	l := newLoader(maxRules)
	var files []string
	named := map[string]bool{} // not met in a folder
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

// LoadFile reads one rule file that is in memory; path is for messages.
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
	// Through DirFS, which also walks a folder that is a symbolic link.
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
	ids  map[string]problem.Problem // where each id was seen first
	most int                        // rules, each scope counted
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

// file reads one file. What is wrong with it as a whole takes all its rules out; their own problems are told as well. A
// rule test is left alone, unless it is named as a rule file.
func (l *loader) file(path string, src []byte, named bool) {
	f, problems := strictyaml.Parse(path, src)
	test := f != nil && IsTest(f.Root)
	if test && !named {
		return
	}
	info := File{Path: path}
	defer func() { l.set.Files = append(l.set.Files, info) }()
	if test {
		problems = problem.List{f.Problem(nil, CodeRuleTest, "this is a rule test, no rule file", "run it with tallyman rules test "+path)}
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

// fileWide tells whether any of the problems belongs to no rule: to the file's frame or its defaults.
func fileWide(l problem.List) bool {
	return slices.ContainsFunc(l, func(p problem.Problem) bool { return p.Rule == "" })
}

// claimID reports an id that another rule has.
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

var errNoFile = errors.New("this is no regular file")

// Read returns what stands in a rule file or a rule test. What only looks like a file, such as a pipe, is read where it was named
// (its writer is at work), but not where it was met in a folder: nobody may ever write to it.
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
	return io.ReadAll(io.LimitReader(f, strictyaml.MaxSize+1)) // one byte more is refused as too large
}

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
