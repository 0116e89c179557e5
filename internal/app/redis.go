package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"tallyman/internal/api/metrics"
	"tallyman/internal/api/view"
	"tallyman/internal/config"
	"tallyman/internal/delivery"
	"tallyman/internal/ledger"
	"tallyman/sinks"
	"tallyman/sinks/inbox"
	"tallyman/sinks/queue"
	"tallyman/sinks/recovery"
)

// indexes is Redis with the inbox and the queues that Tallyman keeps in it.
type indexes struct {
	sink     string         // The inbox's name in the configuration.
	embedded *embeddedRedis // Nil means Redis is a separate server.
	client   redis.UniversalClient
	inbox    *inbox.Inbox
	queues   map[string]*workQueue // Keyed by sink.
}

// sharedParts are the parts of the node that the inbox and the queues share.
type sharedParts struct {
	ledger    ledger.Ledger
	lineage   recovery.Lineage
	onRestore func(ctx context.Context, r recovery.Restore) error
	node      string // The name of the node.
	session   delivery.Session
	queueNow  func() time.Time // See Options.QueueNow.
	log       *slog.Logger
}

func (a *App) shared() sharedParts {
	return sharedParts{ledger: a.ledger, lineage: a.branch, onRestore: a.tellRestore, node: a.opts.Node, session: a.session, queueNow: a.opts.QueueNow, log: a.log}
}

// openIndex makes the client, the inbox and the queues. The client connects at its first use, so a Redis that is down
// does not stop the start.
func openIndex(cfg *config.Config, s sharedParts) (_ *indexes, err error) {
	ix := &indexes{}
	defer func() {
		if err != nil {
			err = errors.Join(err, ix.close())
		}
	}()
	if ix.sink, err = inboxSink(cfg.Sinks); err != nil {
		return nil, err
	}
	options, err := ix.server(cfg.Redis)
	if err != nil {
		return nil, err
	}
	watch := recovery.NewWatch()
	options.OnConnect = watch.OnConnect
	ix.client = redis.NewUniversalClient(options)
	ix.inbox, err = inbox.New(inbox.Options{
		Client: ix.client, Watch: watch, Ledger: s.ledger, Lineage: s.lineage, OnRestore: s.onRestore, Session: s.session,
		Prefix: cfg.Redis.Prefix, Sink: ix.sink, Cap: inboxCap(cfg.Sinks[ix.sink]), Logger: s.log,
	})
	if err != nil {
		return nil, fmt.Errorf("set up the inbox: %w", err)
	}
	err = ix.openQueues(cfg.Sinks, queue.Options{
		Client: ix.client, Watch: watch, Ledger: s.ledger, Lineage: s.lineage, OnRestore: s.onRestore, Node: s.node, Session: s.session, Prefix: cfg.Redis.Prefix, Logger: s.log, Now: s.queueNow,
	})
	return ix, err
}

// server returns how to reach Redis. server starts the embedded Redis where the configuration asks for it.
func (ix *indexes) server(cfg config.Redis) (*redis.UniversalOptions, error) {
	if !cfg.Embedded() {
		options, err := cfg.Options()
		if err != nil {
			return nil, fmt.Errorf("redis.url: %w", err)
		}
		return options, nil
	}
	embedded, err := startEmbeddedRedis()
	if err != nil {
		return nil, err
	}
	ix.embedded = embedded
	return &redis.UniversalOptions{Addrs: []string{config.Embedded}, Dialer: embedded.dial}, nil
}

// check refuses a Redis that may evict keys, because notices and items would be lost. A Redis that is out of reach does
// not stop the start: the inbox checks Redis before it serves.
func (ix *indexes) check(ctx context.Context, log *slog.Logger) error {
	ctx, cancel := context.WithTimeout(ctx, pingTimeout)
	defer cancel()
	err := ix.inbox.Check(ctx)
	if errors.Is(err, recovery.ErrEvicts) {
		return fmt.Errorf("redis.url: %w", err)
	}
	if err != nil {
		log.Warn("Redis is out of reach. Deliveries to the inbox and to queues wait for it.", "error", err)
	}
	return nil
}

// inboxSink returns the name of the inbox, from which polls are answered. A configuration may have one inbox.
func inboxSink(configured config.Sinks) (string, error) {
	var names []string
	for _, name := range slices.Sorted(maps.Keys(configured)) {
		if configured[name].Kind() == sinks.InboxKind {
			names = append(names, name)
		}
	}
	switch len(names) {
	case 0:
		return inbox.DefaultSink, nil
	case 1:
		return names[0], nil
	default:
		return "", fmt.Errorf("sinks: %s are all of type inbox; keep one, since clients poll the inbox", strings.Join(names, ", "))
	}
}

// inboxCap returns how many notices an inbox keeps. 0 means the default, where no inbox is configured.
func inboxCap(s sinks.Settings) int {
	if s, ok := s.(*inbox.Settings); ok {
		return s.Cap
	}
	return 0
}

func (ix *indexes) close() error {
	var err error
	if ix.client != nil {
		err = ix.client.Close()
	}
	if ix.embedded != nil {
		ix.embedded.close()
	}
	return err
}

// openQueues makes the configured queues. They share the client, and the watch over its connections, with the inbox.
func (ix *indexes) openQueues(configured config.Sinks, shared queue.Options) error {
	ix.queues = map[string]*workQueue{}
	for _, name := range slices.Sorted(maps.Keys(configured)) {
		s, ok := configured[name].(*queue.Settings)
		if !ok {
			continue
		}
		q, err := queue.New(s.Options(name, shared))
		if err != nil {
			return fmt.Errorf("sinks.%s: %w", name, err)
		}
		ix.queues[name] = &workQueue{Queue: q, config: s}
	}
	return nil
}

// served returns the API's view of the queues.
func (ix *indexes) served() map[string]view.ServedQueue {
	list := map[string]view.ServedQueue{}
	for name, q := range ix.queues {
		list[name] = view.ServedQueue{Queue: q, Timezone: q.config.Timezone.String(), Dedupe: q.config.Dedupe.String(), Events: q.config.Events.Told()}
	}
	return list
}

// sizers returns the metrics' view of the queues.
func (ix *indexes) sizers() map[string]metrics.Sizer {
	list := map[string]metrics.Sizer{}
	for name, q := range ix.queues {
		list[name] = q
	}
	return list
}

// workQueue is a queue with its settings and its health.
type workQueue struct {
	*queue.Queue

	config *queue.Settings
	health health
}

// readQueueSettings reads the settings that operators have made for queues, and puts them in force.
func (a *App) readQueueSettings(ctx context.Context) error {
	var errs []error
	for _, q := range a.index.queues {
		errs = append(errs, q.ReadSettings(ctx))
	}
	return errors.Join(errs...)
}

// embeddedRedis is a Redis in this process (redis.url: embedded), for trying Tallyman out. embeddedRedis stores nothing
// on disk: after a restart the inboxes are rebuilt from the ledger. embeddedRedis does not listen on a port: only this
// process reaches it, over pipes in memory.
type embeddedRedis struct{ server *miniredis.Miniredis }

func startEmbeddedRedis() (*embeddedRedis, error) {
	server := miniredis.NewMiniRedis()
	first, err := server.Dial() // Dial starts the server without a listener.
	if err != nil {
		return nil, fmt.Errorf("start the embedded Redis: %w", err)
	}
	if err := first.Close(); err != nil {
		return nil, fmt.Errorf("start the embedded Redis: %w", err)
	}
	server.ClockTTL(true) // Keys expire as the clock moves, as in a Redis server.
	return &embeddedRedis{server}, nil
}

// dial implements redis.UniversalOptions.Dialer.
func (e *embeddedRedis) dial(context.Context, string, string) (net.Conn, error) {
	ours, theirs := net.Pipe()
	e.server.Server().ServeConn(newOutbox(theirs))
	return ours, nil
}

func (e *embeddedRedis) close() { e.server.Close() }

// outbox is the server's end of a pipe. outbox keeps answers in memory until the client reads them, as a Redis server
// does. Without it, a client that writes many commands before it reads would deadlock: a pipe has no buffer.
type outbox struct {
	net.Conn

	mu     sync.Mutex
	more   sync.Cond
	queued []byte
	err    error // The first error of a write. After it nothing is written any more.
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

// send writes the queued bytes, until the connection is closed.
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

// Close ends the connection. Queued bytes are lost, because nobody reads them any more.
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
