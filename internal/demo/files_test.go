package demo

import (
	"encoding/json"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tallyman/internal/testenv"
)

func TestMain(m *testing.M) { testenv.Main(m) }

func TestWarehouseLiesInAFolderWithAnyName(t *testing.T) {
	for _, name := range []string{"a b%20#?c", "%41", "货&mode=ro;x"} {
		dir := filepath.Join(t.TempDir(), name)
		if err := os.Mkdir(dir, 0o750); err != nil {
			t.Fatal(err)
		}
		t.Setenv("TMPDIR", dir)
		f, err := newFolder(t.Context())
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if file, err := os.Stat(f.path("wms.db")); err != nil || file.Size() == 0 || !strings.HasPrefix(f.dir, dir) {
			t.Errorf("%s: %s, %v", name, f.dir, err)
		}
		if err := f.close(); err != nil {
			t.Error(err)
		}
	}
}

// A forklift reports an answer without its result as an error, and goes on.
func TestForkliftOfAnAnswerWithoutResults(t *testing.T) {
	t.Parallel()
	for answer, want := range map[string]string{
		`{}`: "0 results", `{"results":[]}`: "0 results", `{"results":[{"outcome":"ok"},{"outcome":"ok"}]}`: "2 results",
		`{"results":[{"outcome":"ok"}]}`: "", `{"results":[{"outcome":"suspend_limit"}]}`: "",
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _ = json.NewEncoder(w).Encode(json.RawMessage(answer)) }))
		f := &forklift{http: server.Client(), base: server.URL, name: "forklift-1", dice: rand.New(rand.NewPCG(1, 1))}
		limit, err := f.do(t.Context(), leasedItem{ID: "a", Attempt: 1}, "suspend", "")
		if (want == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), want) || limit != strings.Contains(answer, "limit") {
			t.Errorf("%s: %v, %v", answer, limit, err)
		}
		server.Close()
	}
}
