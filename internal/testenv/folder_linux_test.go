package testenv

import (
	"os"
	"path/filepath"
	"testing"
)

// The next process that needs a folder removes folders in memory that killed processes have left. A folder in use
// stays.
func TestFoldersOfKilledProcessesAreRemoved(t *testing.T) {
	if !roomInMemory() {
		t.Skip("no room for files in memory")
	}
	const prefix = "tmtestenv"
	left, err := os.MkdirTemp(memory, prefix)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(left, "lock"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	var used []string
	for range 2 {
		dir, err := serverFolder(prefix)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = os.RemoveAll(dir) })
		used = append(used, dir)
	}
	if _, err := os.Stat(left); !os.IsNotExist(err) {
		t.Errorf("the folder that nobody uses is still there: %v", err)
	}
	for _, dir := range used {
		if _, err := os.Stat(filepath.Join(dir, "lock")); err != nil {
			t.Errorf("a folder that is in use is gone: %v", err)
		}
	}
}
