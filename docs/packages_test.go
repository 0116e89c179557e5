package docs

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"tallyman/docs/codetest"
)

// goPackage is a package as go list tells it.
type goPackage struct {
	ImportPath string
	Imports    []string // of what is compiled into the program, not of tests
}

// TestImportsFollowTheDrawing holds the drawing at the head of architecture.md against what packages import: every package stands in it, by its own name
// or that of a folder above it, and imports only packages of its own entry, of lines below, or of the same line's leaves.
func TestImportsFollowTheDrawing(t *testing.T) {
	t.Parallel()
	levels := drawnLevels(t)
	module, packages := listed(t)
	seen := map[string]bool{}
	for _, p := range packages {
		name := strings.TrimPrefix(p.ImportPath, module+"/")
		if isForTests(name) {
			continue
		}
		entry, level := place(levels, name)
		if entry == "" {
			t.Errorf("%s is not in the drawing of architecture.md", name)
			continue
		}
		seen[entry] = true
		for _, path := range p.Imports {
			imported, ours := strings.CutPrefix(path, module+"/")
			if !ours {
				continue
			}
			below, at := place(levels, imported)
			if below != entry && at <= level {
				t.Errorf("%s imports %s, which the drawing does not have below it", name, imported)
			}
		}
	}
	for _, level := range levels {
		for _, entry := range level {
			if !seen[entry] {
				t.Errorf("the drawing of architecture.md has %s, which is no package", entry)
			}
		}
	}
}

// TestWhereToChangeWhat looks whether the files of that table are there.
func TestWhereToChangeWhat(t *testing.T) {
	t.Parallel()
	_, text, _ := strings.Cut(codetest.ReadFile(t, "explanation/architecture.md"), "## Where to change what\n")
	table, _, _ := strings.Cut(text, "\n## ")
	n := 0
	for _, found := range regexp.MustCompile("`([a-z]+/[^` ]+)`").FindAllStringSubmatch(table, -1) {
		n++
		if _, err := os.Stat(filepath.Join("..", found[1])); err != nil {
			t.Errorf("%s is not there", found[1])
		}
	}
	if n < 40 {
		t.Errorf("only %d files were found", n)
	}
}

// drawnLevels are the lines of the drawing, the first block of the page that is set apart: on each line entries, and behind two spaces or more and
// a dash what they are.
func drawnLevels(t *testing.T) (levels [][]string) {
	t.Helper()
	block := regexp.MustCompile(`(?m)(?:^    .+\n)+`).FindString(codetest.ReadFile(t, "explanation/architecture.md"))
	for line := range strings.Lines(block) {
		entries, _, _ := strings.Cut(line, " – ")
		levels = append(levels, strings.Fields(entries))
	}
	if len(levels) < 5 {
		t.Fatalf("the drawing has only %d lines", len(levels))
	}
	return levels
}

// place finds the entry with the longest name that a package lies in, and its line.
func place(levels [][]string, name string) (entry string, level int) {
	for i, entries := range levels {
		for _, e := range entries {
			if (name == e || strings.HasPrefix(name, e+"/")) && len(e) > len(entry) {
				entry, level = e, i
			}
		}
	}
	return entry, level
}

// isForTests tells whether only tests import the package.
func isForTests(name string) bool {
	folders := strings.Split(name, "/")
	return folders[0] == "docs" || slices.ContainsFunc(folders, func(folder string) bool {
		return strings.HasSuffix(folder, "test") || folder == "testenv" || folder == "e2e"
	})
}

func listed(t *testing.T) (module string, packages []goPackage) {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", "list", "-m").Output()
	if err != nil {
		t.Fatal(err)
	}
	module = strings.TrimSpace(string(out))
	list, err := exec.CommandContext(t.Context(), "go", "list", "-json=ImportPath,Imports", module+"/...").Output()
	if err != nil {
		t.Fatal(err)
	}
	decoder := json.NewDecoder(strings.NewReader(string(list)))
	for {
		var p goPackage
		if err := decoder.Decode(&p); errors.Is(err, io.EOF) {
			return module, packages
		} else if err != nil {
			t.Fatal(err)
		}
		packages = append(packages, p)
	}
}
