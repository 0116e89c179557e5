package demo

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"
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
