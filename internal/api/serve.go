package api

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"
)

// HTTP is how the server meets its callers. The zero value speaks plain HTTP, limits nobody, and lets no page of another origin call.
type HTTP struct {
	Rate    Rate
	Origins []string // scheme://host[:port] of the pages that may call
	TLS     *TLS     // nil = plain HTTP
}

// bounds are those of a connection.
type bounds struct {
	header   time.Duration // until the headers have come
	read     time.Duration // until the whole request has
	write    time.Duration // until the answer is read: a poll may wait before it is written
	idle     time.Duration // between two requests
	shutdown time.Duration
	head     int // bytes of the request line and the headers; above it the answer is no problem, and the connection ends
}

func defaultBounds() bounds {
	return bounds{
		header: 5 * time.Second, read: 30 * time.Second, write: MaxWait + 30*time.Second, idle: 2 * time.Minute,
		shutdown: 10 * time.Second, head: 4 * maxHead,
	}
}

// maxHead is how many bytes the request line and the headers may take.
const maxHead = 32 << 10

// Serve answers requests on the listener until the context ends. Then it takes no more, wakes those who wait for
// something new, and gives the rest 10 s to finish. It closes the listener. The error is nil after a clean end.
func (a *API) Serve(ctx context.Context, ln net.Listener) error {
	server := &http.Server{
		Handler:           a,
		ReadHeaderTimeout: a.bounds.header,
		ReadTimeout:       a.bounds.read,
		WriteTimeout:      a.bounds.write,
		IdleTimeout:       a.bounds.idle,
		MaxHeaderBytes:    a.bounds.head,
		ErrorLog:          slog.NewLogLogger(a.log.Handler(), slog.LevelDebug),
	}
	watching, endWatch := context.WithCancel(ctx)
	var watch sync.WaitGroup
	defer watch.Wait()
	defer endWatch()
	listen := server.Serve
	if pair := a.deps.HTTP.TLS; pair != nil {
		server.TLSConfig = pair.config()
		listen = func(ln net.Listener) error { return server.ServeTLS(ln, "", "") }
		watch.Go(func() { pair.Pair.Watch(watching) })
	}
	failed := make(chan error, 1)
	go func() { failed <- listen(ln) }()
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
	a.deps.Streams.Drain()
	ctx, cancel := context.WithTimeout(ctx, a.bounds.shutdown)
	defer cancel()
	if err := server.Shutdown(ctx); err != nil {
		return fmt.Errorf("end the http server: %w", errors.Join(err, server.Close()))
	}
	return nil
}
