package docs

import (
	"io/fs"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"

	"tallyman/docs/codetest"
)

var (
	commentLine = regexp.MustCompile(`^\s*(//|--|#|;)|\s// `)
	fileName    = regexp.MustCompile("(?:^|[\\s(`\"\\[,:])((?:[a-z0-9_*-]+/)*[a-z0-9_]+\\.(?:go|lua|sql))\\b")
	packageName = regexp.MustCompile(`(\w+)\.? [Pp]ackage ([a-z][a-z0-9]*(?:/[a-z][a-z0-9]*)*)\b`)
)

// articles stand before a package that has no name there: what follows is not one.
var articles = []string{"the", "The", "a", "A", "this", "This", "each", "Each", "every", "Every", "its", "own", "another", "one", "that", "which", "no", "same", "go"}

// fromOutside are packages and files that are not ours, the example of error-codes.md, and what a reader writes.
var fromOutside = []string{"time", "text/template", "runtime/time.go", "probe.sql", "subscriptions.sql", "roles.sql"}

// TestCommentsNameWhatIsThere looks at the files and packages that comments and pages name. A file without a folder lies in the folder of what names
// it, or below that; a package is one of ours or of the standard library.
func TestCommentsNameWhatIsThere(t *testing.T) {
	t.Parallel()
	files := sources(t)
	packages := map[string]bool{}
	for _, f := range files {
		if strings.HasSuffix(f, ".go") {
			for dir := path.Dir(f); dir != "."; dir = path.Dir(dir) {
				packages[path.Base(dir)] = true
			}
		}
	}
	for _, f := range files {
		isPage := strings.HasSuffix(f, ".md")
		if !isPage && !slices.Contains([]string{".go", ".lua", ".sql"}, path.Ext(f)) || f == "CHANGELOG.md" {
			continue
		}
		for i, line := range strings.Split(codetest.ReadFile(t, "../"+f), "\n") {
			if !isPage && !commentLine.MatchString(line) {
				continue
			}
			for _, m := range fileName.FindAllStringSubmatch(line, -1) {
				if !isThere(files, f, m[1]) && !slices.Contains(fromOutside, m[1]) {
					t.Errorf("%s:%d names %s, which is not there", f, i+1, m[1])
				}
			}
			for _, m := range packageName.FindAllStringSubmatch(line, -1) {
				if !isPage && !packages[path.Base(m[2])] && !slices.Contains(articles, m[1]) && !slices.Contains(fromOutside, m[2]) {
					t.Errorf("%s:%d names package %s, which is not there", f, i+1, m[2])
				}
			}
		}
	}
}

// isThere tells whether a file that a comment names exists: from the root where it has a folder, else in the folder of the comment or below it.
func isThere(files []string, from, name string) bool {
	return slices.ContainsFunc(files, func(f string) bool {
		if strings.Contains(name, "/") {
			ok, _ := path.Match(name, f)
			return ok || strings.HasSuffix(f, "/"+name)
		}
		return path.Base(f) == name && (strings.HasSuffix(from, ".md") || strings.HasPrefix(f, path.Dir(from)+"/") || strings.HasPrefix(from, path.Dir(f)+"/"))
	})
}

// sources are the files of the project from its root on, without what builds and tests leave behind.
func sources(t *testing.T) (files []string) {
	t.Helper()
	err := fs.WalkDir(os.DirFS(".."), ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case !d.IsDir():
			files = append(files, name)
		case slices.Contains([]string{".git", "bin", "dist", "node_modules", "tmp"}, d.Name()):
			return fs.SkipDir
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}
