package console

import (
	"net/http"
	"strings"
)

// policy lets the console's pages load their own files and call their own server, and nothing else: no inline script or style, no
// other origin, no frame around them, no text that becomes script. Svelte makes its elements under the one name that is allowed.
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
