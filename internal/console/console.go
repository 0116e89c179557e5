package console

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"io/fs"
	"mime"
	"net/http"
	"path"
	"strings"
	"sync"
	"time"
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

// Serve answers a request for a page or a file of one. It reports false, and has done nothing, where the request is
// none.
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
	// The console's own addresses, such as /rules/negative-bin-stock, are known to its router alone: whoever wants to
	// see a page gets it.
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

// file is one of the console's, and how it is sent.
type file struct {
	name   string
	media  string
	etag   string
	plain  []byte
	packed func() []byte // gzip; nil where that is no smaller
}

func newFile(name string, content []byte) *file {
	sum := sha256.Sum256(content)
	return &file{
		name: name, media: media(name), etag: hex.EncodeToString(sum[:12]), plain: content,
		packed: sync.OnceValue(func() []byte { return pack(content) }),
	}
}

// pack compresses what gains by it.
func pack(content []byte) []byte {
	var out bytes.Buffer
	zip, _ := gzip.NewWriterLevel(&out, gzip.BestCompression) // the level is one
	_, _ = zip.Write(content)                                 // a buffer takes everything
	_ = zip.Close()
	if out.Len() >= len(content) {
		return nil
	}
	return out.Bytes()
}

// serve sends the file, or 304 where the browser has it.
func (f *file) serve(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	f.headers(h)
	content, etag := f.plain, f.etag
	if accepts(r, "gzip") && r.Header.Get("Range") == "" {
		if packed := f.packed(); packed != nil {
			h.Set("Content-Encoding", "gzip")
			content, etag = packed, etag+"-gzip"
		}
	}
	h.Set("ETag", `"`+etag+`"`)
	http.ServeContent(w, r, f.name, time.Time{}, bytes.NewReader(content))
}

// accepts tells whether the browser takes the encoding.
func accepts(r *http.Request, encoding string) bool {
	for offered := range strings.SplitSeq(r.Header.Get("Accept-Encoding"), ",") {
		name, params, _ := strings.Cut(strings.TrimSpace(offered), ";")
		if strings.EqualFold(strings.TrimSpace(name), encoding) {
			return strings.ReplaceAll(params, " ", "") != "q=0"
		}
	}
	return false
}

// policy lets the console's pages load their own files and call their own server, and nothing else: no inline script or
// style, no other origin, no frame around them, no text that becomes script. Svelte makes its elements under the one
// name that is allowed.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types svelte-trusted-html"

// headers sets what the browser is told about the file.
func (f *file) headers(h http.Header) {
	h.Set("Content-Type", f.media)
	h.Set("Vary", "Accept-Encoding")
	h.Set("Cache-Control", "no-cache") // kept, and asked about each time
	if strings.HasPrefix(f.name, assets) {
		h.Set("Cache-Control", "public, max-age=31536000, immutable")
	}
	switch f.name {
	case indexName:
		h.Set("Content-Security-Policy", policy)
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Permissions-Policy", "camera=(), geolocation=(), microphone=()")
	case widgetName: // pages of other origins embed it
		h.Set("Cross-Origin-Resource-Policy", "cross-origin")
		h.Set("Access-Control-Allow-Origin", "*")
	}
}
