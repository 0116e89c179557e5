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

// HTTP has the settings of the HTTP server. The zero value serves plain HTTP, has no rate limit, and allows no other
// origin.
type HTTP struct {
	Rate    Rate
	Origins []string // Origins (scheme://host[:port]) whose pages may call the API.
	TLS     *TLS     // nil = plain HTTP.
}

// bounds are the limits of a connection.
type bounds struct {
	header   time.Duration // Time for the headers to arrive.
	read     time.Duration // Time for the whole request to arrive.
	write    time.Duration // Time until the client has read the answer, including the longest wait of a poll.
	idle     time.Duration // Time between two requests.
	shutdown time.Duration // Time for open requests to end.
	head     int           // Bytes of the request line and the headers. Above this net/http answers itself, without a problem.
}

func defaultBounds() bounds {
	return bounds{
		header: 5 * time.Second, read: 30 * time.Second, write: MaxWait + 30*time.Second, idle: 2 * time.Minute,
		shutdown: 10 * time.Second, head: 4 * maxHead,
	}
}

// maxHead is the maximum size of the request line and the headers, in bytes.
const maxHead = 32 << 10

// Serve answers requests on the listener until the context ends. Then Serve accepts no more requests, wakes the waiting
// requests, and gives the other requests 10 s to finish. Serve closes the listener. The error is nil after a clean end.
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

// Drain ends all streams and all waits of polls, and admits no new streams and waits. Other requests are answered as
// before.
func (a *API) Drain() {
	a.waiters.drain()
	a.deps.Streams.Drain()
}

// shutdown stops the server. shutdown closes connections that do not end in time.
func (a *API) shutdown(ctx context.Context, server *http.Server) error {
	a.Drain()
	ctx, cancel := context.WithTimeout(ctx, a.bounds.shutdown)
	defer cancel()
	if err := server.Shutdown(ctx); err != nil {
		return fmt.Errorf("end the http server: %w", errors.Join(err, server.Close()))
	}
	return nil
}

// TLS has the TLS settings of the server.
type TLS struct {
	Pair  *certs.Pair
	Least uint16 // Least TLS version; 0 = tls.VersionTLS12.
}

func (t *TLS) config() *tls.Config { return t.Pair.Config(max(t.Least, tls.VersionTLS12)) }

// Waiters are the requests that wait for something new. A drain or a shutdown wakes them.
type Waiters struct {
	mu      sync.Mutex
	cancel  map[uint64]context.CancelFunc
	last    uint64
	drained bool
}

// Enter adds a waiter. A drain calls cancel to end the wait. The waiter must call leave when its wait is over. After a
// drain ok is false, and no request may wait.
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

// drain wakes all waiters, and lets no more enter.
func (ws *Waiters) drain() {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	ws.drained = true
	for _, cancel := range ws.cancel {
		cancel()
	}
}
