package api

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	"tallyman/internal/certs"
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
	a.refusals.Flush()
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

// TLS is what the server shows to those who connect.
type TLS struct {
	Pair  *certs.Pair
	Least uint16 // version; tls.VersionTLS12 where 0
}

func (t *TLS) config() *tls.Config { return t.Pair.Config(max(t.Least, tls.VersionTLS12)) }

// Waiters are the requests that wait for something new, so that a shutdown can wake them.
type Waiters struct {
	mu      sync.Mutex
	cancel  map[uint64]context.CancelFunc
	last    uint64
	drained bool
}

// Enter adds a waiter and returns how it leaves, or false when nobody may wait any more.
func (ws *Waiters) Enter(cancel context.CancelFunc) (leave func(), ok bool) {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	if ws.drained {
		return nil, false
	}
	if ws.cancel == nil {
		ws.cancel = map[uint64]context.CancelFunc{}
	}
	ws.last++
	id := ws.last
	ws.cancel[id] = cancel
	return func() { ws.leave(id) }, true
}

func (ws *Waiters) leave(id uint64) {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	delete(ws.cancel, id)
}

// drain wakes everyone and lets nobody in again.
func (ws *Waiters) drain() {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	ws.drained = true
	for _, cancel := range ws.cancel {
		cancel()
	}
}
