package demo

import (
	"bytes"
	"context"
	"embed"
	"fmt"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"time"

	"tallyman/examples/widget"
)

// page is the screen's, but for its style sheet, which is that of the example.
//
//go:embed page
var page embed.FS

// screenPolicy is as strict as a page of a WMS can be: the widget needs nothing more.
const screenPolicy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types svelte-trusted-html"

// openScreen opens the WMS's page with the inbox widget, on the host of listen. What the widget asks for is passed on to the node, as a
// site does that has both behind one address.
func openScreen(ctx context.Context, listen, node string) (*server, error) {
	const what = "the WMS's page"
	host, _, err := net.SplitHostPort(listen)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", what, err)
	}
	return openServer(ctx, what, host, screenPages(node))
}

// screenPages serves the page, and the node behind the same address.
func screenPages(node string) http.Handler {
	to := &url.URL{Scheme: "http", Host: node}
	behind := &httputil.ReverseProxy{
		FlushInterval: -1, // events of a stream go on at once
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(to)
			r.Out.Host = r.In.Host // the node compares it with the page's origin
		},
	}
	mux := http.NewServeMux()
	for _, path := range []string{"/api/", "/widget.js", "/favicon.svg"} {
		mux.Handle(path, behind)
	}
	mux.HandleFunc("GET /page.css", func(w http.ResponseWriter, r *http.Request) {
		http.ServeContent(w, r, "page.css", time.Time{}, bytes.NewReader(widget.Style))
	})
	mux.HandleFunc("GET /page.js", func(w http.ResponseWriter, r *http.Request) { http.ServeFileFS(w, r, page, "page/page.js") })
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Security-Policy", screenPolicy)
		index, _ := page.ReadFile("page/index.html") // it is embedded
		http.ServeContent(w, r, "index.html", time.Time{}, bytes.NewReader(index))
	})
	return mux
}
