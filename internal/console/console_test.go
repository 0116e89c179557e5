package console

import (
	"compress/gzip"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"
)

// open serves a console of three files.
func open(t *testing.T) *Pages {
	t.Helper()
	p, err := read(fstest.MapFS{
		indexName:         {Data: []byte("<!doctype html>" + strings.Repeat("index ", 100))},
		widgetName:        {Data: []byte(strings.Repeat("widget();", 100))},
		assets + "a-1.js": {Data: []byte("a()")},
	})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// get requests a path. It returns nil where Pages does not serve the path.
func get(t *testing.T, p *Pages, method, path string, header ...string) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), method, path, nil)
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	if !p.Serve(w, r) {
		return nil
	}
	return w
}

func TestPagesAnswerWhatIsTheirs(t *testing.T) {
	p := open(t)
	for _, c := range []struct {
		method, path, accept string
		want                 string // how the body begins; empty = not a page
	}{
		{"GET", "/", "*/*", "<!doctype"},
		{"GET", "/index.html", "", "<!doctype"},
		{"GET", "/rules/negative-bin-stock", "text/html,*/*", "<!doctype"},
		{"GET", "/rules/negative-bin-stock", "*/*", ""},
		{"GET", "/widget.js", "*/*", "widget();"},
		{"GET", "/assets/a-1.js", "*/*", "a()"},
		{"GET", "/assets/gone.js", "text/html", ""}, // a page instead of a script would be worse than 404
		{"GET", "/assets/../../go.mod", "*/*", ""},
		{"POST", "/", "text/html", ""},
		{"GET", "/api/v1/rules", "text/html", ""},
		{"GET", "/api", "text/html", ""},
		{"GET", "/metrics", "text/html", ""},
		{"GET", "/healthz", "text/html", ""},
		{"GET", "/openapi.json", "text/html", ""},
		{"GET", "/apiary", "text/html", "<!doctype"},
	} {
		res := get(t, p, c.method, c.path, "Accept", c.accept)
		if res == nil {
			if c.want != "" {
				t.Errorf("%s %s (%s): no page", c.method, c.path, c.accept)
			}
			continue
		}
		if body := text(t, res.Body); c.want == "" || !strings.HasPrefix(body, c.want) {
			t.Errorf("%s %s (%s): %.20q, want %q", c.method, c.path, c.accept, body, c.want)
		}
	}
}

func TestFilesAreCachedAsTheirNamesAllow(t *testing.T) {
	p := open(t)
	for path, want := range map[string]string{
		"/": "no-cache", "/widget.js": "no-cache", "/assets/a-1.js": "public, max-age=31536000, immutable",
	} {
		if got := get(t, p, "GET", path).Header().Get("Cache-Control"); got != want {
			t.Errorf("%s: Cache-Control %q, want %q", path, got, want)
		}
	}
	first := get(t, p, "GET", "/widget.js")
	again := get(t, p, "GET", "/widget.js", "If-None-Match", first.Header().Get("ETag"))
	if again.Code != http.StatusNotModified {
		t.Errorf("asked again with the ETag: %d, want 304", again.Code)
	}
}

func TestFilesArePackedForThoseWhoTakeIt(t *testing.T) {
	p := open(t)
	packed := get(t, p, "GET", "/widget.js", "Accept-Encoding", "br, gzip;q=0.5")
	if packed.Header().Get("Content-Encoding") != "gzip" {
		t.Fatal("not packed")
	}
	zip, err := gzip.NewReader(packed.Body)
	if err != nil {
		t.Fatal(err)
	}
	if got := text(t, zip); got != strings.Repeat("widget();", 100) {
		t.Errorf("unpacked: %.30q", got)
	}
	for _, refused := range []string{"", "br", "gzip; q=0", "gzip;q=0.0", "GZIP ; Q = 0.000", "gzipped"} {
		res := get(t, p, "GET", "/widget.js", "Accept-Encoding", refused)
		if res.Header().Get("Content-Encoding") != "" {
			t.Errorf("packed for %q", refused)
		}
		if res.Header().Get("ETag") == packed.Header().Get("ETag") {
			t.Error("both forms have one ETag")
		}
	}
	if small := get(t, p, "GET", "/assets/a-1.js", "Accept-Encoding", "gzip"); small.Header().Get("Content-Encoding") != "" {
		t.Error("a file that packing makes larger was packed")
	}
}

func TestWidgetMayBeEmbeddedAndPagesMayNot(t *testing.T) {
	p := open(t)
	if got := get(t, p, "GET", "/widget.js").Header().Get("Cross-Origin-Resource-Policy"); got != "cross-origin" {
		t.Errorf("the widget's resource policy is %q", got)
	}
	index := get(t, p, "GET", "/").Header()
	for _, want := range []string{"default-src 'none'", "frame-ancestors 'none'", "script-src 'self';", "style-src 'self';"} {
		if !strings.Contains(index.Get("Content-Security-Policy"), want) {
			t.Errorf("the policy lacks %s", want)
		}
	}
	if strings.Contains(index.Get("Content-Security-Policy"), "unsafe") {
		t.Error("the policy allows something unsafe")
	}
}

func TestMissingFilesAreNamed(t *testing.T) {
	_, err := read(fstest.MapFS{indexName: {}})
	if err == nil || !strings.Contains(err.Error(), "lack widget.js: build them with make console") {
		t.Errorf("got %v", err)
	}
}

// TestEmbeddedPageNamesFilesThatAreThere fails when only a part of a build was committed.
func TestEmbeddedPageNamesFilesThatAreThere(t *testing.T) {
	p, err := New()
	if err != nil {
		t.Fatal(err)
	}
	names := regexp.MustCompile(`(?:src|href)="/([^"]+)"`).FindAllSubmatch(p.files[indexName].plain, -1)
	if len(names) < 3 {
		t.Fatalf("index.html names %d files", len(names))
	}
	for _, name := range names {
		if p.files[string(name[1])] == nil {
			t.Errorf("index.html names %s, which is not there", name[1])
		}
	}
}

func text(t *testing.T, r io.Reader) string {
	t.Helper()
	b, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
