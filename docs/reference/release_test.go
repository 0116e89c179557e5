package main

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestRelease: each command has its man page with the date of the release, and each shell its completion. Two releases
// of one source are the same.
func TestRelease(t *testing.T) {
	t.Setenv("SOURCE_DATE_EPOCH", "1795840941")
	first, second := t.TempDir(), t.TempDir()
	for _, folder := range []string{first, second} {
		if err := run([]string{"release", folder}, nil, nil); err != nil {
			t.Fatal(err)
		}
	}
	names := map[string]bool{}
	err := filepath.WalkDir(first, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		name := strings.TrimPrefix(path, first+"/")
		names[name] = true
		one, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		other, err := os.ReadFile(filepath.Join(second, name))
		if !bytes.Equal(one, other) {
			t.Errorf("%s differs from release to release", name)
		}
		if strings.HasSuffix(name, ".1") && !bytes.Contains(one, []byte(`"Nov 2026"`)) {
			t.Errorf("%s does not have the date of the release", name)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{
		"man/man1/tallyman.1", "man/man1/tallyman-rules-check.1", "man/man1/tallyman-completion-bash.1",
		"completions/tallyman.bash", "completions/tallyman.zsh", "completions/tallyman.fish", "completions/tallyman.ps1",
	} {
		if !names[name] {
			t.Errorf("the release has no %s", name)
		}
	}
}
