package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"

	"github.com/redis/go-redis/v9"

	"tallyman/internal/config"
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

// openIndex makes the client; it connects when it is first used, so a Redis that is down stops nothing.
func openIndex(cfg *config.Config, l ledger.Ledger, node string, log *slog.Logger) (_ *indexes, err error) {
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
		Client: ix.client, Watch: watch, Ledger: l, Node: node,
		Prefix: cfg.Redis.Prefix, Sink: ix.sink, Cap: inboxCap(cfg.Sinks[ix.sink]), Logger: log,
	})
	if err != nil {
		return nil, fmt.Errorf("set up the inbox: %w", err)
	}
	err = ix.openQueues(cfg.Sinks, queue.Options{
		Client: ix.client, Watch: watch, Ledger: l, Node: node, Prefix: cfg.Redis.Prefix, Logger: log,
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

// check refuses a Redis that would throw notices or items away. One that is out of reach stops nothing: it is asked again before it serves.
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
