package demo

import (
	"bytes"
	"context"
	"embed"
	"errors"
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

// screen is the WMS's own web server: it has a page with the inbox widget, and passes what the widget asks for on to Tallyman, as a
// site does that has both behind one address.
type screen struct {
	listener net.Listener
	server   *http.Server
}

// openScreen listens on the host of listen, on any free port.
func openScreen(ctx context.Context, listen, node string) (*screen, error) {
	host, _, err := net.SplitHostPort(listen)
	if err != nil {
		return nil, fmt.Errorf("open the WMS's page: %w", err)
	}
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp", net.JoinHostPort(host, "0"))
	if err != nil {
		return nil, fmt.Errorf("open the WMS's page: %w", err)
	}
	return &screen{listener: listener, server: &http.Server{Handler: screenPages(node), ReadHeaderTimeout: 5 * time.Second}}, nil
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

func (s *screen) url() string { return "http://" + s.listener.Addr().String() + "/" }

// run serves until ctx ends.
func (s *screen) run(ctx context.Context) error {
	stop := context.AfterFunc(ctx, func() { _ = s.server.Close() })
	defer stop()
	if err := s.server.Serve(s.listener); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve the WMS's page: %w", err)
	}
	return nil
}

// close frees the port where run never began.
func (s *screen) close() { _ = s.listener.Close() }
