package api

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"
)

// The bounds of a connection.
const (
	readHeaderTimeout = 5 * time.Second
	readTimeout       = 30 * time.Second
	writeTimeout      = maxWait + 30*time.Second // a poll may wait before it is written
	idleTimeout       = 2 * time.Minute
	maxHeaderBytes    = 32 << 10
	shutdownTimeout   = 10 * time.Second
)

// Serve answers requests on the listener until the context ends. Then it takes no more, wakes those who wait for
// something new, and gives the rest 10 s to finish. It closes the listener. The error is nil after a clean end.
func (a *API) Serve(ctx context.Context, ln net.Listener) error {
	server := &http.Server{
		Handler:           a,
		ReadHeaderTimeout: readHeaderTimeout,
		ReadTimeout:       readTimeout,
		WriteTimeout:      writeTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeaderBytes,
		ErrorLog:          slog.NewLogLogger(a.log.Handler(), slog.LevelDebug),
	}
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(ln) }()
	select {
	case err := <-failed:
		return fmt.Errorf("serve http on %s: %w", ln.Addr(), err)
	case <-ctx.Done():
	}
	err := a.shutdown(context.WithoutCancel(ctx), server)
	if served := <-failed; !errors.Is(served, http.ErrServerClosed) {
		err = errors.Join(err, served)
	}
	return err
}

// shutdown ends the server, by force where the time does not suffice.
func (a *API) shutdown(ctx context.Context, server *http.Server) error {
	a.waiters.drain()
	ctx, cancel := context.WithTimeout(ctx, shutdownTimeout)
	defer cancel()
	if err := server.Shutdown(ctx); err != nil {
		return fmt.Errorf("end the http server: %w", errors.Join(err, server.Close()))
	}
	return nil
}
