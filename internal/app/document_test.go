package app_test

import (
	"encoding/json"
	"net/http"
	"os"
	"strings"
	"testing"
)

// TestNodesServeTheDocument holds the document that a node serves against the committed one, which the console's types,
// the clients and the API's own tests are made of. A node fills in what the API itself does not know, such as the types
// of sinks.
func TestNodesServeTheDocument(t *testing.T) {
	t.Parallel()
	n := newSite(t).start("one")
	code, text := n.do(http.MethodGet, "/openapi.json", "application/json", "")
	if code != http.StatusOK {
		t.Fatalf("%d %s", code, text)
	}
	golden, err := os.ReadFile("../api/testdata/openapi.json")
	if err != nil {
		t.Fatal(err)
	}
	served, committed := documentLines(t, []byte(text)), documentLines(t, golden)
	for i := range max(len(served), len(committed)) {
		if i >= len(served) || i >= len(committed) || served[i] != committed[i] {
			t.Fatalf("they differ from line %d on: a node serves\n%s\ntestdata/openapi.json has\n%s", i+1,
				strings.Join(served[i:min(i+5, len(served))], "\n"), strings.Join(committed[i:min(i+5, len(committed))], "\n"))
		}
	}
}

// documentLines are the lines of a document, without the version of the program that serves it.
func documentLines(t *testing.T, text []byte) []string {
	t.Helper()
	var doc map[string]any
	if err := json.Unmarshal(text, &doc); err != nil {
		t.Fatal(err)
	}
	delete(doc["info"].(map[string]any), "version")
	lines, err := json.MarshalIndent(doc, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(string(lines), "\n")
}
