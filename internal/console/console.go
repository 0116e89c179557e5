package console

import (
	"embed"
	"fmt"
	"io/fs"
	"mime"
	"net/http"
	"path"
	"strings"
)

//go:embed all:dist
var built embed.FS

const (
	indexName  = "index.html"
	widgetName = "widget.js"
	assets     = "assets/" // their names carry a hash of what they hold
)

// elsewhere are the paths that belong to the API, files below them included.
var elsewhere = []string{"/api", "/healthz", "/readyz", "/metrics", "/openapi.json"}

// Pages serves the files of the console and the widget.
type Pages struct{ files map[string]*file }

// New reads what is embedded.
func New() (*Pages, error) {
	root, err := fs.Sub(built, "dist")
	if err != nil {
		return nil, fmt.Errorf("open the console's files: %w", err)
	}
	return read(root)
}

// read takes all files of the folder.
func read(root fs.FS) (*Pages, error) {
	p := &Pages{files: map[string]*file{}}
	err := fs.WalkDir(root, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := fs.ReadFile(root, name)
		if err != nil {
			return err
		}
		p.files[name] = newFile(name, content)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read the console's files: %w", err)
	}
	for _, needed := range []string{indexName, widgetName} {
		if p.files[needed] == nil {
			return nil, fmt.Errorf("the console's files lack %s: build them with make console", needed)
		}
	}
	return p, nil
}

// Serve answers a request for a page or a file of one. It reports false, and has done nothing, where the request is none.
func (p *Pages) Serve(w http.ResponseWriter, r *http.Request) bool {
	f := p.find(r)
	if f == nil {
		return false
	}
	f.serve(w, r)
	return true
}

// find returns the file that the request is for, nil where there is none.
func (p *Pages) find(r *http.Request) *file {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		return nil
	}
	for _, api := range elsewhere {
		if r.URL.Path == api || strings.HasPrefix(r.URL.Path, api+"/") {
			return nil
		}
	}
	name := strings.TrimPrefix(path.Clean(r.URL.Path), "/")
	if f := p.files[name]; f != nil {
		return f
	}
	// The console's own addresses, such as /rules/negative-bin-stock, are known to its router alone: whoever wants to see a page gets it.
	if name == "" || !strings.HasPrefix(name, assets) && strings.Contains(r.Header.Get("Accept"), "text/html") {
		return p.files[indexName]
	}
	return nil
}

// media is the media type of a file.
func media(name string) string {
	switch ext := path.Ext(name); ext {
	case ".js": // not every system's table has it right
		return "text/javascript; charset=utf-8"
	case ".md":
		return "text/plain; charset=utf-8"
	default:
		return mime.TypeByExtension(ext)
	}
}
