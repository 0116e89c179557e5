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
	"strconv"
	"strings"
	"sync"
	"time"
)

//go:embed all:dist
var built embed.FS

const (
	indexName  = "index.html"
	widgetName = "widget.js"
	assets     = "assets/" // The names of these files contain a hash of the content, so browsers may keep them.
)

// elsewhere are the paths of the API. Every path below them belongs to the API as well.
var elsewhere = []string{"/api", "/healthz", "/readyz", "/metrics", "/openapi.json"}

// Pages serves the files of the console and the widget.
type Pages struct{ files map[string]*file }

// New reads the embedded files.
func New() (*Pages, error) {
	root, err := fs.Sub(built, "dist")
	if err != nil {
		return nil, fmt.Errorf("open the console's files: %w", err)
	}
	return read(root)
}

// read reads all files of the folder. read fails where the console's page or the widget is missing.
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

// Serve answers a request for a page or one of its files. For any other request it does nothing and returns false.
func (p *Pages) Serve(w http.ResponseWriter, r *http.Request) bool {
	f := p.find(r)
	if f == nil {
		return false
	}
	f.serve(w, r)
	return true
}

// find returns the file that the request asks for, or nil.
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
	// Only the router of the console knows its addresses, such as /rules/negative-bin-stock. So a browser that asks for
	// a page gets the console, whatever the address.
	if name == "" || !strings.HasPrefix(name, assets) && strings.Contains(r.Header.Get("Accept"), "text/html") {
		return p.files[indexName]
	}
	return nil
}

// media returns the media type of a file.
func media(name string) string {
	switch ext := path.Ext(name); ext {
	case ".js": // Some systems have a wrong type for it.
		return "text/javascript; charset=utf-8"
	case ".md":
		return "text/plain; charset=utf-8"
	default:
		return mime.TypeByExtension(ext)
	}
}

// file is a file of the console, and how it is sent.
type file struct {
	name   string
	media  string
	etag   string
	plain  []byte
	packed func() []byte // The gzip form. Nil where gzip makes the file no smaller.
}

func newFile(name string, content []byte) *file {
	sum := sha256.Sum256(content)
	return &file{
		name: name, media: media(name), etag: hex.EncodeToString(sum[:12]), plain: content,
		packed: sync.OnceValue(func() []byte { return pack(content) }),
	}
}

// pack compresses the content. pack returns nil where that makes the content no smaller.
func pack(content []byte) []byte {
	var out bytes.Buffer
	zip, _ := gzip.NewWriterLevel(&out, gzip.BestCompression) // No error: the level is valid.
	_, _ = zip.Write(content)                                 // No error: a bytes.Buffer takes everything.
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

// accepts tells whether the browser accepts the encoding.
func accepts(r *http.Request, encoding string) bool {
	for offered := range strings.SplitSeq(r.Header.Get("Accept-Encoding"), ",") {
		name, params, _ := strings.Cut(strings.TrimSpace(offered), ";")
		if strings.EqualFold(strings.TrimSpace(name), encoding) {
			_, q, _ := strings.Cut(params, "=") // The only parameter is the weight; 0 excludes the encoding.
			weight, err := strconv.ParseFloat(strings.TrimSpace(q), 64)
			return err != nil || weight > 0
		}
	}
	return false
}

// policy lets the console's pages load their own files and call their own server, and nothing else. policy forbids
// inline scripts and styles, other origins, frames around the pages, and texts that become scripts. Trusted types allow
// one name only: the name under which Svelte makes elements.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types svelte-trusted-html"

// headers sets the headers of the file.
func (f *file) headers(h http.Header) {
	h.Set("Content-Type", f.media)
	h.Set("Vary", "Accept-Encoding")
	h.Set("Cache-Control", "no-cache") // The browser keeps the file, and asks each time whether it has changed.
	if strings.HasPrefix(f.name, assets) {
		h.Set("Cache-Control", "public, max-age=31536000, immutable")
	}
	switch f.name {
	case indexName:
		h.Set("Content-Security-Policy", policy)
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Permissions-Policy", "camera=(), geolocation=(), microphone=()")
	case widgetName: // Pages of other origins embed the widget.
		h.Set("Cross-Origin-Resource-Policy", "cross-origin")
		h.Set("Access-Control-Allow-Origin", "*")
	}
}
