package demo

import (
	"bytes"
	"context"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"time"

	"tallyman/examples/widget"
)

// server is one of the WMS's own web servers, on any free port.
type server struct {
	what     string
	listener net.Listener
	http     *http.Server
}

// openServer listens on a host; what it is stands in errors.
func openServer(ctx context.Context, what, host string, handler http.Handler) (*server, error) {
	var listen net.ListenConfig
	listener, err := listen.Listen(ctx, "tcp", net.JoinHostPort(host, "0"))
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", what, err)
	}
	return &server{what: what, listener: listener, http: &http.Server{Handler: handler, ReadHeaderTimeout: 5 * time.Second}}, nil
}

func (s *server) url(path string) string { return "http://" + s.listener.Addr().String() + path }

// run serves until ctx ends.
func (s *server) run(ctx context.Context) error {
	stop := context.AfterFunc(ctx, func() { _ = s.http.Close() })
	defer stop()
	if err := s.http.Serve(s.listener); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve %s: %w", s.what, err)
	}
	return nil
}

// close frees the port where run never began.
func (s *server) close() { _ = s.listener.Close() }

// carrierName is the sink that tells the carriers' system.
const carrierName = "carrier"

// When the carriers' system does not answer, in minutes of each hour of the warehouse's time.
const (
	outageFrom  = 20
	outageUntil = 32
)

// carrier stands for the carriers' own system, which takes what a webhook brings. It is down for some minutes of each
// hour, and does not know every order: so the demo has deliveries that are tried again, that come too late and that are
// refused.
type carrier struct {
	clock *Clock
}

// openCarrier listens on this machine alone.
func openCarrier(ctx context.Context, clock *Clock) (*server, error) {
	return openServer(ctx, "the carriers' system", "127.0.0.1", carrier{clock: clock})
}

// ServeHTTP takes a notice of an order that is late.
func (c carrier) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var late struct {
		Data struct {
			Order string `json:"order"`
		} `json:"data"`
	}
	minute := c.clock.Now().Minute()
	err := json.NewDecoder(http.MaxBytesReader(w, r.Body, 1<<20)).Decode(&late)
	switch {
	case minute >= outageFrom && minute < outageUntil:
		http.Error(w, "the night batch runs", http.StatusServiceUnavailable)
	case err != nil:
		http.Error(w, "no JSON", http.StatusBadRequest)
	case strings.HasSuffix(late.Data.Order, "7"):
		http.Error(w, "no such order: "+late.Data.Order, http.StatusUnprocessableEntity)
	default:
		w.WriteHeader(http.StatusNoContent)
	}
}

// page is the screen's, but for its style sheet, which is that of the example.
//
//go:embed page
var page embed.FS

// screenPolicy is as strict as a page of a WMS can be: the widget needs nothing more.
const screenPolicy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types svelte-trusted-html"

// openScreen opens the WMS's page with the inbox widget, on the host of listen. What the widget asks for is passed on
// to the node, as a site does that has both behind one address.
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

// browse opens the address in the browser of whoever sits at this machine, as far as somebody does.
func browse(ctx context.Context, address string) {
	var program string
	switch runtime.GOOS {
	case "darwin":
		program = "open"
	case "windows":
		program = "explorer"
	default:
		if os.Getenv("DISPLAY") == "" && os.Getenv("WAYLAND_DISPLAY") == "" {
			return // no screen: a server, or a session over SSH
		}
		program = "xdg-open"
	}
	command := exec.CommandContext(ctx, program, address) //nolint:gosec // one of three programs, and our own address
	if command.Start() == nil {                           // where it cannot be opened, the address stands in the output
		go func() { _ = command.Wait() }()
	}
}
