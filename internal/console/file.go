package console

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"strings"
	"sync"
	"time"
)

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
