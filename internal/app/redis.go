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

// indexes is Redis and what Tallyman keeps in it.
type indexes struct {
	sink     string         // the inbox's name in the configuration
	embedded *embeddedRedis // nil = a server of its own
	client   redis.UniversalClient
	inbox    *inbox.Inbox
	queues   map[string]*workQueue // by the name of their sink
}

// sharedParts is what all indexes of a node share.
type sharedParts struct {
	ledger    ledger.Ledger
	lineage   recovery.Lineage
	onRestore func(ctx context.Context, r recovery.Restore) error
	node      string // its name
	session   delivery.Session
	queueNow  func() time.Time // see Options
	log       *slog.Logger
}

func (a *App) shared() sharedParts {
	return sharedParts{ledger: a.ledger, lineage: a.branch, onRestore: a.tellRestore, node: a.opts.Node, session: a.session, queueNow: a.opts.QueueNow, log: a.log}
}

// openIndex makes the client; it connects when it is first used, so a Redis that is down stops nothing.
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

// server says how to reach Redis, and starts it first where it is the embedded one.
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

// check refuses a Redis that would throw notices or items away. One that is out of reach stops nothing: it is asked
// again before it serves.
func (ix *indexes) check(ctx context.Context, log *slog.Logger) error {
	ctx, cancel := context.WithTimeout(ctx, pingTimeout)
	defer cancel()
	err := ix.inbox.Check(ctx)
	if errors.Is(err, recovery.ErrEvicts) {
		return fmt.Errorf("redis.url: %w", err)
	}
	if err != nil {
		log.Warn("Redis is not in reach; deliveries wait for it", "error", err)
	}
	return nil
}

// inboxSink names the sink that polls are answered from: a site has one.
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

// inboxCap is how many notices an inbox keeps; 0 = as many as by default, where no sink is configured.
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

// openQueues makes the configured queues. With the inbox they share what is said of Redis: the client, and the watch
// over its connections.
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

// served are the queues as the API has them.
func (ix *indexes) served() map[string]view.ServedQueue {
	list := map[string]view.ServedQueue{}
	for name, q := range ix.queues {
		list[name] = view.ServedQueue{Queue: q, Timezone: q.config.Timezone.String(), Dedupe: q.config.Dedupe.String(), Events: q.config.Events.Told()}
	}
	return list
}

// sizers are the queues as the metrics have them.
func (ix *indexes) sizers() map[string]metrics.Sizer {
	list := map[string]metrics.Sizer{}
	for name, q := range ix.queues {
		list[name] = q
	}
	return list
}

// workQueue is a queue, with what /status says of it.
type workQueue struct {
	*queue.Queue

	config *queue.Settings
	health health
}

// readQueueSettings puts in force what operators have set of the queues.
func (a *App) readQueueSettings(ctx context.Context) error {
	var errs []error
	for _, q := range a.index.queues {
		errs = append(errs, q.ReadSettings(ctx))
	}
	return errors.Join(errs...)
}

// embeddedRedis is Redis in this process (redis.url: embedded), for trying Tallyman out. It keeps nothing: after a
// restart the inboxes are written back from the ledger. It listens nowhere: only this process can reach it, over pipes
// in memory.
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

// outbox is the server's end of a pipe. Answers wait in memory until the client reads them, as those of a Redis server
// do: a client that writes many commands before it reads would otherwise wait for a server that waits for it.
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
