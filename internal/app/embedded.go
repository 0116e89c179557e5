package app

import (
	"context"
	"fmt"
	"net"
	"sync"

	"github.com/alicebob/miniredis/v2"
)

// embeddedRedis is Redis in this process (redis.url: embedded), for trying Tallyman out. It keeps nothing: after a restart the inboxes
// are written back from the ledger. It listens nowhere: only this process can reach it, over pipes in memory.
type embeddedRedis struct{ server *miniredis.Miniredis }

func startEmbeddedRedis() (*embeddedRedis, error) {
	server := miniredis.NewMiniRedis()
	first, err := server.Dial() // starts it without a listener
	if err != nil {
		return nil, fmt.Errorf("start the embedded Redis: %w", err)
	}
	if err := first.Close(); err != nil {
		return nil, fmt.Errorf("start the embedded Redis: %w", err)
	}
	server.ClockTTL(true) // keys expire as the clock moves, as in Redis
	return &embeddedRedis{server}, nil
}

// dial is for redis.UniversalOptions.Dialer.
func (e *embeddedRedis) dial(context.Context, string, string) (net.Conn, error) {
	ours, theirs := net.Pipe()
	e.server.Server().ServeConn(newOutbox(theirs))
	return ours, nil
}

func (e *embeddedRedis) close() { e.server.Close() }

// outbox is the server's end of a pipe. Answers wait in memory until the client reads them, as those of a Redis server do: a client that
// writes many commands before it reads would otherwise wait for a server that waits for it.
type outbox struct {
	net.Conn

	mu     sync.Mutex
	more   sync.Cond
	queued []byte
	err    error // of writing; set = nothing is written any more
}

func newOutbox(conn net.Conn) *outbox {
	o := &outbox{Conn: conn}
	o.more.L = &o.mu
	go o.send()
	return o
}

// Write queues the bytes.
func (o *outbox) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.err != nil {
		return 0, o.err
	}
	o.queued = append(o.queued, b...)
	o.more.Signal()
	return len(b), nil
}

// send writes what is queued, until the connection is closed.
func (o *outbox) send() {
	var batch []byte
	for {
		o.mu.Lock()
		for len(o.queued) == 0 && o.err == nil {
			o.more.Wait()
		}
		if o.err != nil {
			o.mu.Unlock()
			return
		}
		batch, o.queued = o.queued, batch[:0]
		o.mu.Unlock()
		if _, err := o.Conn.Write(batch); err != nil {
			o.fail(err)
		}
	}
}

// Close ends the connection. What is queued is lost, as nobody reads it any more.
func (o *outbox) Close() error {
	o.fail(net.ErrClosed)
	return o.Conn.Close()
}

func (o *outbox) fail(err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.err == nil {
		o.err = err
	}
	o.more.Signal()
}
