package rules_test

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"tallyman/rules"
)

// A pipe without a writer would block for ever, and a device never ends.
func TestOnlyFilesOfAFolderAreRead(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	for _, err := range []error{
		syscall.Mkfifo(at("pipe.yaml"), 0o600), os.Symlink("/dev/zero", at("zero.yaml")),
		os.WriteFile(at("sound.yaml"), []byte("version: 1\nrules: []\n"), 0o600),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	set := rules.Load([]string{dir})
	if len(set.Problems) != 2 || len(set.Files) != 1 {
		t.Fatalf("files %v, problems %v", set.Files, set.Problems)
	}
	for i, name := range []string{"pipe.yaml", "zero.yaml"} {
		if p := set.Problems[i]; p.File != at(name) || p.Code != rules.CodeUnreadable || p.Message != "this is not a regular file" {
			t.Errorf("%s: %v", name, p)
		}
	}
}

func TestDeviceThatIsNamedIsReadInBounds(t *testing.T) {
	set := rules.Load([]string{"/dev/zero"})
	if len(set.Problems) != 1 || set.Problems[0].Code != "file_too_large" {
		t.Fatal(set.Problems)
	}
}
