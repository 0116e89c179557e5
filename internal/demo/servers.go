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

// server is a web server of the simulated site, on any free port.
type server struct {
	what     string
	listener net.Listener
	http     *http.Server
}

// openServer listens on a host. Its errors name the server by what.
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

// close frees the port of a server that never ran.
func (s *server) close() { _ = s.listener.Close() }

// carrierName is the sink of the carriers' system.
const carrierName = "carrier"

// The minutes of each hour of the warehouse's time in which the carriers' system does not answer.
const (
	outageFrom  = 20
	outageUntil = 32
)

// carrier is the carriers' system, which gets webhooks. It is down for some minutes of each hour, and does not know
// every order. So the demo has deliveries that are tried again, deliveries that time out, and refused ones.
type carrier struct {
	clock *Clock
}

// openCarrier listens on a loopback address.
func openCarrier(ctx context.Context, clock *Clock) (*server, error) {
	return openServer(ctx, "the carriers' system", "127.0.0.1", carrier{clock: clock})
}

// ServeHTTP takes a notice of a late order.
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

// page has the files of the WMS's page, which openScreen serves. The page's style sheet comes from package
// examples/widget.
//
//go:embed page
var page embed.FS

// screenPolicy is the strictest policy that a page with the widget can have.
const screenPolicy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types svelte-trusted-html"

// openScreen serves the WMS's page with the inbox widget, on the host of listen. It passes the widget's requests on to
// the node, as on a site that has both behind one address.
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
		FlushInterval: -1, // Events of a stream are passed on at once.
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(to)
			r.Out.Host = r.In.Host // The node compares the host with the origin of the page.
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
		index, _ := page.ReadFile("page/index.html") // No error: the file is embedded.
		http.ServeContent(w, r, "index.html", time.Time{}, bytes.NewReader(index))
	})
	return mux
}

// browse opens the address in the browser of this machine's user. It does nothing on a machine without a screen.
func browse(ctx context.Context, address string) {
	var program string
	switch runtime.GOOS {
	case "darwin":
		program = "open"
	case "windows":
		program = "explorer"
	default:
		if os.Getenv("DISPLAY") == "" && os.Getenv("WAYLAND_DISPLAY") == "" {
			return // There is no screen: the machine is a server, or the session comes over SSH.
		}
		program = "xdg-open"
	}
	command := exec.CommandContext(ctx, program, address) //nolint:gosec // The program is one of three, and the address is the demo's own.
	// After an error the user still finds the address in the output.
	if command.Start() == nil {
		go func() { _ = command.Wait() }()
	}
}
