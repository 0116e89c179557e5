package ledgertest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tallyman/internal/ledger/named"
)

// QueriesAreUsed fails for every query that neither the code of the package under test, which lies in the working folder, nor that of the
// store names.
func QueriesAreUsed(t *testing.T, queries named.Queries) {
	t.Helper()
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	shared, err := filepath.Glob("../store/*.go")
	if err != nil || len(shared) == 0 {
		t.Fatalf("the files of the store: %v, %v", shared, err)
	}
	files = append(files, shared...)
	var code strings.Builder
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		code.Write(text)
	}
	if len(queries) == 0 {
		t.Fatal("there are no queries")
	}
	for name := range queries {
		if !strings.Contains(code.String(), `"`+name+`"`) {
			t.Errorf("no code names the query %s", name)
		}
	}
}
