package sqlite_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"tallyman/internal/ledger"
	"tallyman/internal/ledger/ledgertest"
	"tallyman/internal/ledger/sqlite"
)

// A ledger that is open for reading only works beside the node that has the file, and leaves no trace.
func TestOpenReadOnly(t *testing.T) {
	t.Parallel()
	path := migrated(t)
	node := open(t, path, ledger.Options{})
	commit(t, node, 1)
	view := openView(t, path)
	hasFindings(t, view, 1)
	commit(t, node, 2)
	hasFindings(t, view, 2)
	refusesWrites(t, view)
	if _, err := sqlite.Open(t.Context(), path, ledger.Options{}); !errors.Is(err, ledger.ErrInUse) {
		t.Errorf("beside the node another could open it: %v", err)
	}
	if err := node.Close(); err != nil {
		t.Fatal(err)
	}
	hasFindings(t, view, 2)
}

func TestOpenReadOnlyAlone(t *testing.T) {
	t.Parallel()
	path := migrated(t)
	node := open(t, path, ledger.Options{})
	commit(t, node, 1)
	if err := node.Close(); err != nil {
		t.Fatal(err)
	}
	view := openView(t, path)
	hasFindings(t, view, 1)
	refusesWrites(t, view)
	open(t, path, ledger.Options{}) // a node can start meanwhile
	hasFindings(t, view, 1)
}

func TestOpenReadOnlyLeavesNothing(t *testing.T) {
	t.Parallel()
	path := migrated(t)
	before := beside(t, path)
	view := openView(t, path)
	hasFindings(t, view, 0)
	if err := view.Close(); err != nil {
		t.Fatal(err)
	}
	if after := beside(t, path); len(after) != len(before) {
		t.Fatalf("there were %v, and are %v", before, after)
	}

	none := filepath.Join(t.TempDir(), "none.db")
	if _, err := sqlite.OpenReadOnly(t.Context(), none, ledger.Options{}); !errors.Is(err, ledger.ErrSchema) {
		t.Errorf("no file: %v", err)
	}
	if _, err := os.Stat(none); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the file was made: %v", err)
	}
	if err := os.WriteFile(none, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := sqlite.OpenReadOnly(t.Context(), none, ledger.Options{}); !errors.Is(err, ledger.ErrSchema) {
		t.Errorf("an empty file: %v", err)
	}
}

func openView(t *testing.T, path string) *sqlite.Ledger {
	t.Helper()
	v, err := sqlite.OpenReadOnly(t.Context(), path, ledger.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := v.Close(); err != nil {
			t.Error(err)
		}
	})
	return v
}

func hasFindings(t *testing.T, v ledger.View, want int) {
	t.Helper()
	list, err := v.Findings(t.Context(), "r", "")
	if err != nil || len(list) != want {
		t.Fatalf("%d findings, want %d: %v", len(list), want, err)
	}
}

func refusesWrites(t *testing.T, l ledger.Ledger) {
	t.Helper()
	if _, err := l.Register(t.Context(), "new", "", 0, at(0)); err == nil {
		t.Error("a rule was registered")
	}
	if err := l.SetSwitch(t.Context(), ledgertest.Ann, ledger.Switch{Rule: "r", Scope: ledger.Every, At: at(0)}); err == nil {
		t.Error("a rule was switched")
	}
}

func beside(t *testing.T, path string) []string {
	t.Helper()
	files, err := os.ReadDir(filepath.Dir(path))
	if err != nil {
		t.Fatal(err)
	}
	names := make([]string, len(files))
	for i, f := range files {
		names[i] = f.Name()
	}
	return names
}
